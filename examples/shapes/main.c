/* main.c: moving shapes -> a detector that ingot compiled into a library -> a window of characters with boxes.
 *
 * usage: shapes [PICTURES [SEED]]      (on a terminal 400 pictures, one over the other; else one; seed 4)
 *
 * Build it so:
 *     ingot build examples/shapes/shapes.onnxtxt -o out/shapes
 *     cc -O2 -ffp-contract=off -Iout/shapes examples/shapes/main.c out/shapes/libshapes.a -lm -o out/shapes/shapes
 * The picture is drawn here; with a camera, paint() copies a frame. */
#define _POSIX_C_SOURCE 200809L
#include "shapes.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SIDE = 64, GRID = 8, CELL = 8, KINDS = 3, SHAPES = 3 };
static const char *const names[KINDS] = { "ring", "square", "triangle" };

struct shape {
	int kind;
	float x, y, dx, dy, turn, turning, size, bright;
};

struct box {
	int kind;
	float sure, left, top, right, low;
};

static unsigned char workspace[SHAPES_WORKSPACE_BYTES] __attribute__((aligned(SHAPES_WORKSPACE_ALIGN)));
static uint64_t drawn;

/* In [0, 1): splitmix64. */
static float draw(void)
{
	uint64_t z = drawn += 0x9E3779B97F4A7C15u;
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return (float)((z ^ (z >> 31)) >> 40) / 16777216.0f;
}

static void begin(struct shape *shapes)
{
	for (int i = 0; i < SHAPES; i++) {
		static const float sizes[KINDS] = { 7.6f, 6.6f, 5.2f };
		struct shape *s = shapes + i;
		*s = (struct shape){ .kind = i % KINDS, .x = 12 + 20 * (float)i, .y = 12 + 40 * draw() };
		s->dx = 1.6f * draw() - 0.8f, s->dy = 1.6f * draw() - 0.8f;
		s->turn = 6 * draw(), s->turning = 0.1f * draw() - 0.05f;
		s->size = sizes[s->kind] * (0.8f + 0.4f * draw()), s->bright = 0.55f + 0.45f * draw();
	}
}

/* They turn back from each other and at the border. */
static void move(struct shape *shapes)
{
	for (int i = 0; i < SHAPES; i++)
		for (int j = 0; j < i; j++) {
			struct shape *s = shapes + i, *o = shapes + j;
			float x = s->x - o->x, y = s->y - o->y, near = x * (s->dx - o->dx) + y * (s->dy - o->dy);
			if (x * x + y * y < 28 * 28 && near < 0) {
				float dx = s->dx, dy = s->dy;
				s->dx = o->dx, s->dy = o->dy, o->dx = dx, o->dy = dy;
			}
		}
	for (int i = 0; i < SHAPES; i++) {
		struct shape *s = shapes + i;
		s->dx = s->x < 12 ? fabsf(s->dx) : s->x > SIDE - 12 ? -fabsf(s->dx) : s->dx;
		s->dy = s->y < 12 ? fabsf(s->dy) : s->y > SIDE - 12 ? -fabsf(s->dy) : s->dy;
		s->x += s->dx, s->y += s->dy, s->turn += s->turning;
	}
}

/* How far a point is outside of a shape in the middle. */
static float outside(const struct shape *s, float x, float y)
{
	float far = sqrtf(x * x + y * y);
	if (s->kind == 0)
		return fmaxf(far - s->size, 0.5f * s->size - far);
	far = -SIDE;
	int sides = s->kind == 1 ? 4 : 3;
	for (int i = 0; i < sides; i++) {
		float at = s->turn + 6.2831853f * (float)i / (float)sides;
		far = fmaxf(far, x * cosf(at) + y * sinf(at));
	}
	return far - s->size;
}

static void paint(const struct shape *shapes, float picture[SIDE][SIDE])
{
	for (int y = 0; y < SIDE; y++)
		for (int x = 0; x < SIDE; x++) {
			float *p = &picture[y][x];
			*p = 0.1f + 0.1f * (draw() - 0.5f);
			for (int i = 0; i < SHAPES; i++) {
				float in = 0.5f
				        - outside(shapes + i, (float)x + 0.5f - shapes[i].x,
				                (float)y + 0.5f - shapes[i].y);
				*p += (shapes[i].bright - *p) * fminf(fmaxf(in, 0), 1);
			}
			*p = fminf(fmaxf(*p, 0), 1);
		}
}

/* The cells that are surer of a shape than all neighbours are. */
static int find(float cells[1 + KINDS + 4][GRID][GRID], struct box *boxes)
{
	int count = 0;
	for (int i = 0; i < GRID; i++)
		for (int j = 0; j < GRID; j++) {
			float sure = cells[0][i][j];
			int most = sure > 0.4f;
			for (int a = i > 0 ? i - 1 : 0; a <= i + 1 && a < GRID; a++)
				for (int b = j > 0 ? j - 1 : 0; b <= j + 1 && b < GRID; b++)
					most = most && (cells[0][a][b] < sure || (a == i && b == j));
			if (!most)
				continue;
			struct box *box = boxes + count++;
			*box = (struct box){ .sure = fminf(sure, 1) };
			for (int k = 1; k < KINDS; k++)
				box->kind = cells[1 + k][i][j] > cells[1 + box->kind][i][j] ? k : box->kind;
			float x = CELL * ((float)j + cells[4][i][j]), y = CELL * ((float)i + cells[5][i][j]);
			float wide = CELL * cells[6][i][j] / 2, high = CELL * cells[7][i][j] / 2;
			box->left = x - wide, box->right = x + wide, box->top = y - high, box->low = y + high;
		}
	return count;
}

static int within(float v, int most) { return v < 0 ? 0 : v > (float)most ? most : (int)v; }

/* Characters are twice as high as wide. */
static void show(float picture[SIDE][SIDE], const struct box *boxes, int count)
{
	char window[SIDE / 2][SIDE + 1] = { 0 };
	for (int i = 0; i < SIDE / 2; i++)
		for (int j = 0; j < SIDE; j++)
			window[i][j] = "  .:oO##"[within((picture[2 * i][j] + picture[2 * i + 1][j]) * 4, 7)];
	for (int k = 0; k < count; k++) {
		const struct box *box = boxes + k;
		int left = within(box->left - 1, SIDE - 1), right = within(box->right + 1, SIDE - 1);
		int top = within(box->top / 2 - 1, SIDE / 2 - 1), low = within(box->low / 2 + 1, SIDE / 2 - 1);
		char label[32];
		for (int j = left; j <= right; j++)
			window[top][j] = window[low][j] = j == left || j == right ? '+' : '-';
		for (int i = top + 1; i < low; i++)
			window[i][left] = window[i][right] = '|';
		int length = snprintf(label, sizeof label, "%s %.0f%%", names[box->kind], (double)box->sure * 100);
		int at = left + 1 + length > SIDE ? SIDE - length : left + 1;
		memcpy(&window[top][at], label, (size_t)length);
	}
	for (int i = 0; i < SIDE / 2; i++)
		puts(window[i]);
}

/* Shapes that a box of their kind has its middle near: a triangle of this size has its own up to 3 from its box's. */
static int found(const struct shape *shapes, const struct box *boxes, int count)
{
	int right = 0;
	for (int i = 0; i < SHAPES; i++)
		for (int k = 0; k < count; k++) {
			float x = (boxes[k].left + boxes[k].right) / 2 - shapes[i].x,
			      y = (boxes[k].top + boxes[k].low) / 2 - shapes[i].y;
			if (boxes[k].kind == shapes[i].kind && x * x + y * y < 6 * 6) {
				right++;
				break;
			}
		}
	return right;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

int main(int argc, char **argv)
{
	static float picture[SIDE][SIDE], cells[1 + KINDS + 4][GRID][GRID];
	int terminal = isatty(1), pictures = argc > 1 ? atoi(argv[1]) : terminal ? 400 : 1, right = 0, boxes_all = 0;
	struct shape shapes[SHAPES];
	struct box boxes[GRID * GRID];
	double best = 1e30;
	drawn = argc > 2 ? (uint64_t)atoi(argv[2]) : 4;
	if (argc > 3 || pictures < 1) {
		fprintf(stderr, "usage: %s [PICTURES [SEED]]\n", argv[0]);
		return 2;
	}
	begin(shapes);
	for (int n = 0; n < pictures; n++) {
		struct shapes_inputs in = { .picture = &picture[0][0] };
		struct shapes_outputs out = { .cells = &cells[0][0][0] };
		struct shapes_context context = { .workspace = workspace };
		move(shapes);
		paint(shapes, picture);
		double start = now();
		int status = shapes_run(&in, &out, &context);
		if (status) {
			fprintf(stderr, "shapes_run returned %d\n", status);
			return 1;
		}
		best = fmin(best, now() - start);
		int count = find(cells, boxes);
		boxes_all += count;
		right += found(shapes, boxes, count);
		if (terminal && n)
			printf("\033[%dA", SIDE / 2);
		if (terminal || n == pictures - 1)
			show(picture, boxes, count);
		if (terminal && n < pictures - 1)
			nanosleep(&(struct timespec){ .tv_nsec = 40000000 }, NULL);
	}
	printf("%d of %d shapes found, %d boxes beside them.\n", right, SHAPES * pictures, boxes_all - right);
	printf("%.1f us a picture (the best); workspace %lu bytes, weights %lu bytes.\n", best,
	        (unsigned long)SHAPES_WORKSPACE_BYTES, (unsigned long)SHAPES_WEIGHTS_BYTES);
	return 0;
}
