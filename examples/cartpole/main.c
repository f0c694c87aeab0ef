/* main.c: a simulated cart with a pole, a thousand times a second pushed by a policy that ingot compiled into a library.
 *
 * usage: cartpole [SECONDS [SEED]]      (10 and 1; 0 seconds: 10 simulated ones, without waiting for the clock)
 *
 * Build it so:
 *     ingot build examples/cartpole/cartpole.onnxtxt -o out/cartpole
 *     cc -O2 -ffp-contract=off -Iout/cartpole examples/cartpole/main.c out/cartpole/libcartpole.a -lm -o out/cartpole/cartpole
 * Here the cart is simulated; with a real one, see() reads sensors and move() drives a motor. */
#define _POSIX_C_SOURCE 200809L
#include "cartpole.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TICK_NS = 1000000, HERTZ = 1000, KICK = 4 * HERTZ, BINS = 12, WIDE = 61 };

struct cart {
	double x, v;    /* metres, from the middle */
	double s, c, w; /* the pole's angle as sine and cosine, 0 is upright; and its speed */
};

static unsigned char workspace[CARTPOLE_WORKSPACE_BYTES ? CARTPOLE_WORKSPACE_BYTES : 1]
        __attribute__((aligned(CARTPOLE_WORKSPACE_ALIGN)));
static uint64_t drawn;

/* In [0, 1): splitmix64. */
static double draw(void)
{
	uint64_t z = drawn += 0x9E3779B97F4A7C15u;
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

static void see(const struct cart *cart, float seen[5])
{
	seen[0] = (float)cart->x, seen[1] = (float)cart->v;
	seen[2] = (float)cart->s, seen[3] = (float)cart->c, seen[4] = (float)cart->w;
}

/* A tick of cart (1 kg) and pole (0.1 kg, 1 m), as make.py has it. */
static void move(struct cart *cart, double force)
{
	double tick = 1.0 / HERTZ, s = cart->s, c = cart->c, w = cart->w;
	double push = (force + 0.05 * (w * w) * s) / 1.1;
	double turn = (9.81 * s - c * push) / (0.5 * (4.0 / 3.0 - 0.1 * (c * c) / 1.1));
	cart->v += tick * (push - 0.05 * turn * c / 1.1);
	cart->w += tick * turn;
	cart->x += tick * cart->v;
	double half = 0.5 * tick * cart->w, down = 1 / (1 + half * half);
	double ts = 2 * half * down, tc = (1 - half * half) * down;
	cart->s = s * tc + c * ts;
	cart->c = c * tc - s * ts;
}

static void show(const struct cart *cart, double seconds, double force)
{
	enum { HIGH = 11, MIDDLE = WIDE / 2 };
	char window[HIGH][WIDE + 1];
	memset(window, ' ', sizeof window);
	int at = MIDDLE + (int)lrint(cart->x * 10), foot = HIGH / 2;
	memset(window[foot], '.', WIDE);
	for (int i = 1; i <= 20; i++) {
		int x = at + (int)lrint(cart->s * i * 0.5), y = foot - (int)lrint(cart->c * i * 0.25);
		if (x >= 0 && x < WIDE && y >= 0 && y < HIGH)
			window[y][x] = 'o';
	}
	for (int i = -2; i <= 2; i++)
		if (at + i >= 0 && at + i < WIDE)
			window[foot][at + i] = '#';
	for (int i = 0; i < HIGH; i++) {
		window[i][WIDE] = '\0';
		puts(window[i]);
	}
	printf("%4.1f s   force %+6.2f N   \n", seconds, force);
}

static int64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void sleep_until(int64_t time)
{
	struct timespec t = { .tv_sec = time / 1000000000, .tv_nsec = time % 1000000000 };
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
}

static void count(long bins[BINS], int64_t ns)
{
	int bin = 0;
	for (int64_t most = 1000; bin < BINS - 1 && ns >= most; most *= 2)
		bin++;
	bins[bin]++;
}

static void print_bins(const char *title, const long bins[BINS], long all)
{
	printf("%s\n", title);
	for (int i = 0; i < BINS; i++) {
		if (bins[i])
			printf("  %s %5d us %8ld  %.*s\n", i < BINS - 1 ? "below" : "above",
			        1 << (i < BINS - 1 ? i : i - 1), bins[i], 1 + (int)(40 * bins[i] / all),
			        "########################################+");
	}
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 10, waits = seconds > 0, upright = 0, up_at = -1,
	    terminal = waits && isatty(1);
	struct cart cart = { .c = -1 }; /* hanging, in the middle */
	long late[BINS] = { 0 }, taken[BINS] = { 0 };
	float seen[5], force = 0;
	drawn = argc > 2 ? (uint64_t)atoi(argv[2]) : 1;
	if (argc > 3 || seconds < 0) {
		fprintf(stderr, "usage: %s [SECONDS [SEED]]\n", argv[0]);
		return 2;
	}
	struct cartpole_inputs in = { .seen = seen };
	struct cartpole_outputs out = { .force = &force };
	struct cartpole_context context = { .workspace = workspace };
	long ticks = (waits ? seconds : 10) * (long)HERTZ;
	int64_t start = now();
	for (long n = 0; n < ticks; n++) {
		if (waits)
			sleep_until(start + n * TICK_NS);
		int64_t began = now();
		see(&cart, seen);
		int status = cartpole_run(&in, &out, &context);
		if (status) {
			fprintf(stderr, "cartpole_run returned %d\n", status);
			return 1;
		}
		if (waits) {
			count(taken, now() - began);
			count(late, began - (start + n * TICK_NS));
		}
		move(&cart, (double)force);
		if (n % KICK == KICK - 1) /* somebody pushes the pole */
			cart.w += draw() < 0.5 ? -1.5 : 1.5;
		upright += cart.c > 0.95;
		if (cart.c > 0.95 && up_at < 0)
			up_at = (int)n;
		if (terminal && n % 40 == 0) {
			show(&cart, (double)n / HERTZ, (double)force);
			printf("\033[12A");
		}
	}
	show(&cart, (double)ticks / HERTZ, (double)force);
	printf("upright first after %.2f s, and for %.1f%% of the time since.\n",
	        up_at < 0 ? NAN : (double)up_at / HERTZ, up_at < 0 ? 0 : 100.0 * upright / (double)(ticks - up_at));
	if (waits) {
		print_bins("The tick came late by", late, ticks);
		print_bins("Seeing and deciding took", taken, ticks);
	}
	return up_at < 0;
}
