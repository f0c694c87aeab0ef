/* npy.c: .npy -> an array, and back.  The header is a Python dict literal; a file from elsewhere may hold anything, so
 * it is parsed by hand and every size is checked before it is used. */
#include "base/npy.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct header {
	struct build *build;
	const char *where, *at, *end;
};

static NORETURN void broken(const struct header *h, const char *what)
{
	fail(h->build, EXIT_INVALID, h->where, "is no .npy file: %s", what);
}

static void blanks(struct header *h)
{
	while (h->at < h->end && (*h->at == ' ' || *h->at == '\n' || *h->at == '\t'))
		h->at++;
}

static bool take(struct header *h, char c)
{
	blanks(h);
	bool there = h->at < h->end && *h->at == c;
	h->at += there;
	return there;
}

static void want(struct header *h, char c)
{
	if (!take(h, c))
		broken(h, "its header is not the dict that NumPy writes");
}

struct quoted {
	const char *at;
	size_t count;
};

static struct quoted quoted(struct header *h)
{
	char quote = take(h, '\'') ? '\'' : '"';
	if (quote == '"')
		want(h, '"');
	const char *from = h->at;
	while (h->at < h->end && *h->at != quote)
		h->at++;
	if (h->at == h->end)
		broken(h, "a string in its header has no end");
	return (struct quoted){ from, (size_t)(h->at++ - from) };
}

static bool word(struct header *h, const char *text)
{
	blanks(h);
	size_t n = strlen(text);
	bool there = (size_t)(h->end - h->at) >= n && !memcmp(h->at, text, n);
	h->at += there ? n : 0;
	return there;
}

static int64_t number(struct header *h)
{
	int64_t n = 0;
	blanks(h);
	const char *from = h->at;
	for (; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++)
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *h->at - '0', &n))
			broken(h, "a dimension does not fit in 64 bits");
	if (from == h->at)
		broken(h, "its shape holds something that is no number");
	return n;
}

/* '<f4', '>i8', '|b1' … -> type and bytes; returns whether the bytes of an element must be swapped. */
static bool read_type(struct header *h, const char *text, size_t count, struct npy *npy)
{
	char order = count ? text[0] : 0;
	if (count && strchr("<>|=", order) && order)
		text++, count--;
	else
		order = '=';
	if (count == 1 && text[0] == 'O')
		fail(h->build, EXIT_UNSUPPORTED, h->where,
		        "holds Python's objects; of strings, numpy.save(file, array.astype(str)) saves them as such");
	if (count < 2 || count > 8)
		goto unknown;
	for (size_t i = 1; i < count; i++)
		if (text[i] < '0' || text[i] > '9')
			goto unknown;
		else
			npy->item = 10 * npy->item + (size_t)(text[i] - '0');
	if ((text[0] == 'U' || text[0] == 'S') && npy->item) {
		npy->type = DTYPE_STRING;
		npy->width = npy->item;
		npy->item *= text[0] == 'U' ? 4 : 1;
		npy->points = text[0] == 'U';
		return order == '>' && npy->points;
	}
	if (text[0] == 'V' && (npy->item == 1 || npy->item == 2))
		return false;
	for (int type = 1; type < DTYPE_COUNT; type++) {
		const char *known = dtypes[type].numpy;
		if (strlen(known) == count + 1 && !memcmp(known + 1, text, count)) {
			npy->type = (enum dtype)type;
			return order == '>' && npy->item > 1;
		}
	}
unknown:
	fail(h->build, EXIT_UNSUPPORTED, h->where, "elements of NumPy's type '%.*s' are not read",
	        (int)(count < 40 ? count : 40), text);
}

static void swap_bytes(unsigned char *at, size_t bytes, size_t item, enum dtype type)
{
	size_t width = type == DTYPE_C64 || type == DTYPE_C128 ? item / 2 : type == DTYPE_STRING ? 4 : item;
	for (size_t i = 0; i < bytes; i += width)
		for (size_t a = 0, b = width - 1; a < b; a++, b--) {
			unsigned char byte = at[i + a];
			at[i + a] = at[i + b];
			at[i + b] = byte;
		}
}

/* Element i of the result, in C order, stands at the position its indices have when the first runs fastest. */
static void transpose(const struct npy *npy, const unsigned char *from, unsigned char *to)
{
	int64_t index[NPY_RANK] = { 0 };
	for (size_t i = 0; i < npy->bytes; i += npy->item) {
		size_t at = 0;
		for (int k = npy->rank - 1; k >= 0; k--)
			at = at * (size_t)npy->extents[k] + (size_t)index[k];
		memcpy(to + i, from + at * npy->item, npy->item);
		for (int k = npy->rank - 1; k >= 0 && ++index[k] == npy->extents[k]; k--)
			index[k] = 0;
	}
}

static void read_shape(struct header *h, struct npy *npy)
{
	want(h, '(');
	while (!take(h, ')')) {
		if (npy->rank == NPY_RANK)
			fail(h->build, EXIT_LIMIT, h->where, "more than %d dimensions", NPY_RANK);
		npy->extents[npy->rank++] = number(h);
		word(h, "L"); /* Python 2 wrote long integers so */
		if (!take(h, ',')) {
			want(h, ')');
			break;
		}
	}
}

/* ---- strings ---- */
/* NumPy has each character in four bytes: they become UTF-8, as wide as the longest of the strings. */
static void utf8_of_points(struct build *build, const char *where, struct npy *npy)
{
	size_t count = npy->item ? npy->bytes / npy->item : 0, each = npy->item / 4, most = 1, bytes;
	char *wide = arena_alloc(build->arena, npy->item + 4), *data = NULL;
	FOR (write, 2) {
		if (write && !size_mul(most, count, &bytes))
			fail(build, EXIT_LIMIT, where, "its strings have more bytes than can be addressed");
		data = write ? arena_array(build->arena, bytes + 64, 1) : NULL;
		FOR (i, count) {
			char *to = wide;
			size_t length = 0;
			FOR (k, each) {
				uint32_t point;
				memcpy(&point, (const char *)npy->data + i * npy->item + 4 * k, 4);
				if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
					fail(build, EXIT_INVALID, where,
					        "string %zu has a character %u, which Unicode has not", i, point);
				to = text_encode(to, point);
				length = point ? (size_t)(to - wide) : length;
			}
			most = !write && length > most ? length : most;
			if (write)
				memcpy(data + i * most, wide, length);
		}
	}
	npy->data = data;
	npy->width = most;
	npy->bytes = bytes;
}

size_t string_length(const void *bytes, size_t width)
{
	while (width && !((const char *)bytes)[width - 1])
		width--;
	return width;
}

/* The characters of so many strings, four bytes each, as many as the longest has: *most. */
static void points_print(struct text *out, const char *data, size_t count, size_t width, size_t *most)
{
	FOR (i, count) {
		const char *at = data + i * width, *end = at + string_length(at, width);
		size_t k = 0;
		for (; at < end; k++) {
			uint32_t point = text_decode(&at, end);
			if (point >= 0xd800 && point < 0xe000)
				point = 0xfffd; /* a byte that is no UTF-8 */
			if (out)
				text_add(out, (const char *)&point, 4);
		}
		if (!out)
			*most = k > *most ? k : *most;
		for (; out && k < *most; k++)
			text_add(out, "\0\0\0", 4);
	}
}

struct npy npy_parse(struct build *build, const char *where, const void *bytes, size_t count)
{
	const unsigned char *at = bytes;
	struct npy npy = { 0 };
	struct header h = { .build = build, .where = where };
	bool fortran = false, swapped = false, typed = false, shaped = false;
	if (count < 10 || memcmp(at, "\x93NUMPY", 6))
		broken(&h, "it does not begin as one");
	size_t start = at[6] == 1 ? 10 : 12, length = (size_t)at[8] | (size_t)at[9] << 8;
	if (at[6] < 1 || at[6] > 3 || count < start)
		broken(&h, "its version is not known");
	if (at[6] > 1)
		length |= (size_t)at[10] << 16 | (size_t)at[11] << 24;
	if (length > count - start)
		broken(&h, "its header is cut off");
	h.at = (const char *)at + start;
	h.end = h.at + length;
	want(&h, '{');
	while (!take(&h, '}')) {
		struct quoted key = quoted(&h), value;
		want(&h, ':');
		if (key.count == 5 && !memcmp(key.at, "descr", 5)) {
			blanks(&h);
			if (h.at < h.end && *h.at == '[')
				fail(build, EXIT_UNSUPPORTED, where, "holds records, not numbers");
			value = quoted(&h);
			npy.item = 0;
			swapped = read_type(&h, value.at, value.count, &npy);
			typed = true;
		} else if (key.count == 13 && !memcmp(key.at, "fortran_order", 13)) {
			fortran = word(&h, "True");
			if (!fortran && !word(&h, "False"))
				broken(&h, "fortran_order is neither True nor False");
		} else if (key.count == 5 && !memcmp(key.at, "shape", 5) && !shaped) {
			read_shape(&h, &npy);
			shaped = true;
		} else {
			broken(&h, "its header has an unknown key");
		}
		if (!take(&h, ',')) {
			want(&h, '}');
			break;
		}
	}
	if (!typed || !shaped)
		broken(&h, "its header lacks the type or the shape");
	npy.bytes = npy.item;
	FOR (i, npy.rank)
		if (npy.extents[i] == 0)
			npy.bytes = 0;
	for (int i = 0; i < npy.rank && npy.bytes; i++)
		if (!size_mul(npy.bytes, (size_t)npy.extents[i], &npy.bytes))
			fail(build, EXIT_LIMIT, where, "its shape has more bytes than can be addressed");
	if (npy.bytes != count - start - length)
		fail(build, EXIT_INVALID, where, "holds %zu bytes where its shape asks for %zu", count - start - length,
		        npy.bytes);
	unsigned char *data = arena_alloc(build->arena, npy.bytes < 64 ? 64 : npy.bytes);
	if (fortran && npy.rank > 1)
		transpose(&npy, at + start + length, data);
	else if (npy.bytes)
		memcpy(data, at + start + length, npy.bytes);
	if (swapped)
		swap_bytes(data, npy.bytes, npy.item, npy.type);
	npy.data = data;
	if (npy.points)
		utf8_of_points(build, where, &npy);
	return npy;
}

struct npy npy_read(struct build *build, const char *path)
{
	struct mapped mapped = file_map(build, path);
	jmp_buf *out = build->out, here;
	build->out = &here;
	struct npy npy = { 0 };
	if (setjmp(here) == 0) {
		npy = npy_parse(build, path, mapped.at, mapped.bytes);
		build->out = out;
		file_unmap(mapped);
		return npy;
	}
	build->out = out;
	file_unmap(mapped);
	longjmp(*out, 1);
}

void npy_print(struct text *out, enum dtype type, int rank, const int64_t *extents, const void *data)
{
	const struct dtype_row *row = &dtypes[type];
	char header[512], descr[32];
	size_t bytes = (size_t)(row->bits + 7) / 8;
	size_t strings = 1, most = 1;
	for (int i = 0; i < rank && type == DTYPE_STRING; i++)
		strings *= (size_t)extents[i];
	if (type == DTYPE_STRING)
		points_print(NULL, data, strings, (size_t)extents[rank], &most);
	else if (!row->bits)
		fail(out->build, EXIT_UNSUPPORTED, NULL, ".npy has no elements of %s", row->text);
	if (type == DTYPE_STRING)
		snprintf(descr, sizeof descr, "<U%zu", most);
	else if (*row->numpy)
		snprintf(descr, sizeof descr, "%s", row->numpy);
	else
		snprintf(descr, sizeof descr, "|V%zu", bytes);
	int n = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
	FOR (i, rank) {
		n += snprintf(header + n, sizeof header - (size_t)n, i ? " %lld," : "%lld,", (long long)extents[i]);
		if (!size_mul(bytes, (size_t)extents[i], &bytes))
			fail(out->build, EXIT_LIMIT, NULL, "an array with more bytes than can be addressed");
	}
	if (rank > 1)
		n--; /* (2, 3), but (2,) */
	n += snprintf(header + n, sizeof header - (size_t)n, "), }");
	/* The data starts at a multiple of 64, the header ends in a newline. */
	size_t whole = (10 + (size_t)n + 1 + 63) / 64 * 64 - 10;
	unsigned char start[10] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)whole,
		(unsigned char)(whole >> 8) };
	text_add(out, (const char *)start, sizeof start);
	text_add(out, header, (size_t)n);
	for (size_t i = (size_t)n; i + 1 < whole; i++)
		text_addc(out, ' ');
	text_addc(out, '\n');
	if (type == DTYPE_STRING)
		points_print(out, data, strings, (size_t)extents[rank], &most);
	else
		text_add(out, data, bytes);
}

void npy_write(
        struct build *build, const char *path, enum dtype type, int rank, const int64_t *extents, const void *data)
{
	struct text text;
	text_init(&text, build);
	npy_print(&text, type, rank, extents, data);
	bool standard = !strcmp(path, "-");
	FILE *file = standard ? stdout : fopen(path, "wb");
	int reason = errno;
	bool right = file && fwrite(text.at, 1, text.count, file) == text.count;
	if (file && !right)
		reason = errno;
	if (file && (standard ? fflush(file) : fclose(file)) && right) {
		reason = errno;
		right = false;
	}
	text_release(&text);
	if (!right)
		fail(build, file_code(reason), path, "cannot be written: %s", strerror(reason));
}
