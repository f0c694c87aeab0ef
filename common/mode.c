/* mode.c: decisions about memory modes, sharing and precision; element types.  Pure: no runtime is needed. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "alone.h"
#include "ingot/mode.h"

#define WHY_ROOM 200
#define COUNT(array) (sizeof(array) / sizeof *(array))

#if INGOT_THREADS
static bool refuse(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
#endif
static bool refuse(char *why, const char *format, ...)
{
	va_list arguments;
	if (!why)
		return false;
	va_start(arguments, format);
	vsnprintf(why, WHY_ROOM, format, arguments);
	va_end(arguments);
	return false;
}

const char *ingot_provenance_text(enum ingot_provenance provenance)
{
#if INGOT_THREADS /* else numbers say it: words take memory */
	switch ((int)provenance) {
#define P(name, code, text) \
	case code: return text;
		INGOT_PROVENANCES(P)
#undef P
	}
#else
	(void)provenance;
#endif
	return NULL;
}

/* ---- modes ---- */

static const struct {
	uint32_t mode;
	const char *name;
} modes[] = {
	{ INGOT_MODE_NONE, "none" },
	{ INGOT_VIRTUAL, "virtual" },
	{ INGOT_LOCAL, "local" },
	{ INGOT_ON_DEVICE, "on_device" },
	{ INGOT_HOSTED_CONSTANT, "hosted_constant" },
	{ INGOT_HOSTED_CHANGED, "hosted_changed" },
	{ INGOT_HOSTED_VOLATILE, "hosted_volatile" },
	{ INGOT_MODE_OPEN, "open" },
	{ INGOT_DEVICE_ONLY, "device_only" },
	{ INGOT_HOSTED_NONCONSTANT, "hosted_nonconstant" },
	{ INGOT_HOSTED, "hosted" },
	{ INGOT_MATERIALIZED, "materialized" },
	{ INGOT_NEVER_VIRTUAL, "never_virtual" },
	{ INGOT_EFFECTIVELY_CONSTANT, "effectively_constant" },
};
static const char *const sharings[] = { "open", "per_stream", "shared" };
static const char *const precisions[] = { "default", "inferred", "specified" };

static const char *mode_name(uint32_t mode)
{
	for (size_t i = 0; i < COUNT(modes); i++)
		if (modes[i].mode == mode)
			return modes[i].name;
	return NULL;
}

const char *ingot_sharing_name(enum ingot_sharing sharing)
{
	return (unsigned)sharing < COUNT(sharings) ? sharings[sharing] : "?";
}
const char *ingot_precision_name(enum ingot_precision level)
{
	return (unsigned)level < COUNT(precisions) ? precisions[level] : "?";
}

bool ingot_precision_parse(const char *text, enum ingot_precision *level)
{
	for (size_t i = 0; text && level && i < COUNT(precisions); i++)
		if (!strcmp(text, precisions[i])) {
			*level = (enum ingot_precision)i;
			return true;
		}
	return false;
}

size_t ingot_mode_text(uint32_t mode, enum ingot_sharing sharing, char *text, size_t room)
{
	const char *name = mode_name(mode);
	char set[128] = "";
	size_t used = 0;
	/* A set without a name is written as the places that are left. */
	for (size_t i = 1; !name && i < 7; i++)
		if (mode & modes[i].mode)
			used += (size_t)snprintf(set + used, sizeof set - used, "%s%s", used ? "|" : "", modes[i].name);
	return (size_t)snprintf(text, text ? room : 0, "%s%s%s", name ? name : set, sharing ? " " : "",
	        sharing ? ingot_sharing_name(sharing) : "");
}

bool ingot_mode_parse(const char *text, uint32_t *mode, enum ingot_sharing *sharing)
{
	if (!text || !mode || !sharing)
		return false;
	const char *space = strchr(text, ' ');
	size_t length = space ? (size_t)(space - text) : strlen(text);
	uint32_t found = 0;
	bool known = false;
	while (length) {
		const char *bar = memchr(text, '|', length);
		size_t word = bar ? (size_t)(bar - text) : length;
		known = false;
		for (size_t i = 0; i < COUNT(modes); i++)
			if (strlen(modes[i].name) == word && !memcmp(modes[i].name, text, word)) {
				found |= modes[i].mode;
				known = true;
			}
		if (!known)
			return false;
		text += word + (bar != NULL);
		length -= word + (bar != NULL);
	}
	*sharing = INGOT_SHARING_OPEN;
	if (space) {
		for (known = false, length = 1; length < COUNT(sharings); length++)
			if (!strcmp(space + 1, sharings[length])) {
				*sharing = (enum ingot_sharing)length;
				known = true;
			}
	}
	*mode = found;
	return known;
}

static bool contradiction(
        char *why, const char *what, const char *old, uint32_t old_by, const char *new, uint32_t new_by)
{
	const char *old_text = ingot_provenance_text(old_by % 1000), *new_text = ingot_provenance_text(new_by);
	return refuse(why, "%s is %s by %u (%s) and cannot be %s by %u (%s)", what, old, old_by,
	        old_text ? old_text : "?", new, new_by, new_text ? new_text : "?");
}

bool ingot_mode_update(struct ingot_mode_state *state, uint32_t mode, enum ingot_provenance by, char *why)
{
	char old[96], new[96];
	uint32_t now = state->mode ? state->mode : INGOT_MODE_OPEN, both = now & mode;
	ingot_mode_text(now, INGOT_SHARING_OPEN, old, sizeof old);
	ingot_mode_text(mode, INGOT_SHARING_OPEN, new, sizeof new);
	if (!mode || mode & ~(uint32_t)INGOT_MODE_OPEN)
		return refuse(why, "%u is no mode", mode);
	if (!both)
		return contradiction(why, "the mode", old, state->provenance, new, by);
	/* A tensor for several streams has to stay somewhere between runs. */
	if (state->sharing == INGOT_SHARED && !(both & INGOT_MATERIALIZED))
		return contradiction(why, "the sharing", "shared", state->provenance, new, by);
	if (both != now || !state->mode) {
		state->mode = both;
		state->provenance = by;
	}
	return true;
}

bool ingot_sharing_update(
        struct ingot_mode_state *state, enum ingot_sharing sharing, enum ingot_provenance by, char *why)
{
	uint32_t now = state->mode ? state->mode : INGOT_MODE_OPEN, mode = now;
	char old[96];
	ingot_mode_text(now, (enum ingot_sharing)state->sharing, old, sizeof old);
	if ((unsigned)sharing > INGOT_SHARED)
		return refuse(why, "%u is no sharing", (unsigned)sharing);
	if (state->sharing == sharing)
		return true;
	if (sharing == INGOT_SHARING_OPEN || (state->sharing == INGOT_SHARED && sharing == INGOT_PER_STREAM))
		return contradiction(why, "the sharing", ingot_sharing_name((enum ingot_sharing)state->sharing),
		        state->provenance, ingot_sharing_name(sharing), by);
	if (now == INGOT_MODE_OPEN)
		mode = INGOT_ON_DEVICE;
	else if (now == INGOT_HOSTED || now == INGOT_HOSTED_NONCONSTANT)
		mode = INGOT_HOSTED_CHANGED;
	else if (!(now & INGOT_MATERIALIZED))
		return contradiction(why, "the mode", old, state->provenance, ingot_sharing_name(sharing), by);
	else
		mode = now & INGOT_MATERIALIZED;
	/* What the host alone changes is the same for every stream. */
	if (sharing == INGOT_PER_STREAM && !(mode & ~(uint32_t)(INGOT_HOSTED_CONSTANT | INGOT_HOSTED_VOLATILE)))
		return contradiction(why, "the mode", old, state->provenance, ingot_sharing_name(sharing), by);
	state->mode = mode;
	state->sharing = sharing;
	state->provenance = by;
	return true;
}

bool ingot_mode_is_open(const struct ingot_mode_state *state)
{
	return !state->mode || (state->mode & (state->mode - 1));
}

void ingot_mode_settle(struct ingot_mode_state *state, uint64_t bytes, enum ingot_provenance by)
{
	uint32_t mode = state->mode ? state->mode : INGOT_MODE_OPEN;
	if (!ingot_mode_is_open(state))
		return;
	if (mode == INGOT_MODE_OPEN || mode == INGOT_EFFECTIVELY_CONSTANT)
		mode = INGOT_VIRTUAL;
	else if (mode & INGOT_LOCAL)
		mode = bytes <= INGOT_LOCAL_BYTES ? INGOT_LOCAL : INGOT_ON_DEVICE;
	else if (mode & INGOT_ON_DEVICE)
		mode = INGOT_ON_DEVICE;
	else
		mode = mode & INGOT_HOSTED_CHANGED     ? INGOT_HOSTED_CHANGED
		        : mode & INGOT_HOSTED_VOLATILE ? INGOT_HOSTED_VOLATILE
		                                       : INGOT_HOSTED_CONSTANT;
	state->mode = mode;
	state->provenance = state->provenance * 1000 + by;
}

static bool within(const struct ingot_mode_state *state, uint32_t set) { return state->mode && !(state->mode & ~set); }

bool ingot_mode_known_virtual(const struct ingot_mode_state *state) { return within(state, INGOT_VIRTUAL); }
bool ingot_mode_known_not_virtual(const struct ingot_mode_state *state) { return within(state, INGOT_NEVER_VIRTUAL); }
bool ingot_mode_known_hosted(const struct ingot_mode_state *state) { return within(state, INGOT_HOSTED); }
bool ingot_mode_known_constant(const struct ingot_mode_state *state) { return within(state, INGOT_HOSTED_CONSTANT); }
bool ingot_mode_known_volatile(const struct ingot_mode_state *state) { return within(state, INGOT_HOSTED_VOLATILE); }
bool ingot_mode_known_not_materialized(const struct ingot_mode_state *state)
{
	return within(state, INGOT_VIRTUAL | INGOT_LOCAL);
}
bool ingot_mode_known_shared(const struct ingot_mode_state *state) { return state->sharing == INGOT_SHARED; }
bool ingot_mode_known_not_cross_stream(const struct ingot_mode_state *state)
{
	return ingot_mode_known_not_materialized(state) || state->sharing == INGOT_PER_STREAM;
}
bool ingot_mode_potentially_cross_stream(const struct ingot_mode_state *state)
{
	return !ingot_mode_known_not_cross_stream(state);
}

/* ---- element types ---- */

/* rank: which of two inferred types wins.  exponent, mantissa: of floats narrower than 32 bits. */
static const struct {
	uint32_t dtype;
	const char *name;
	uint8_t bits, rank, exponent, mantissa;
	char kind; /* f float, m small float, i signed, u unsigned, b bool, x no numbers */
} dtypes[] = {
	{ INGOT_F32, "f32", 32, 19, 0, 0, 'f' },
	{ INGOT_U8, "u8", 8, 4, 0, 0, 'u' },
	{ INGOT_I8, "i8", 8, 5, 0, 0, 'i' },
	{ INGOT_U16, "u16", 16, 6, 0, 0, 'u' },
	{ INGOT_I16, "i16", 16, 7, 0, 0, 'i' },
	{ INGOT_I32, "i32", 32, 8, 0, 0, 'i' },
	{ INGOT_I64, "i64", 64, 10, 0, 0, 'i' },
	{ INGOT_BOOL, "bool", 8, 1, 0, 0, 'b' },
	{ INGOT_F16, "f16", 16, 17, 5, 10, 'm' },
	{ INGOT_F64, "f64", 64, 20, 0, 0, 'f' },
	{ INGOT_U32, "u32", 32, 9, 0, 0, 'u' },
	{ INGOT_U64, "u64", 64, 11, 0, 0, 'u' },
	{ INGOT_C64, "c64", 64, 21, 0, 0, 'x' },
	{ INGOT_C128, "c128", 128, 22, 0, 0, 'x' },
	{ INGOT_BF16, "bf16", 16, 18, 8, 7, 'm' },
	{ INGOT_F8E4M3FN, "f8e4m3fn", 8, 14, 4, 3, 'm' },
	{ INGOT_F8E4M3FNUZ, "f8e4m3fnuz", 8, 13, 0, 0, 'x' },
	{ INGOT_F8E5M2, "f8e5m2", 8, 16, 5, 2, 'm' },
	{ INGOT_F8E5M2FNUZ, "f8e5m2fnuz", 8, 15, 0, 0, 'x' },
	{ INGOT_U4, "u4", 4, 2, 0, 0, 'u' },
	{ INGOT_I4, "i4", 4, 3, 0, 0, 'i' },
	{ INGOT_F4E2M1, "f4e2m1", 4, 12, 0, 0, 'x' },
	{ INGOT_F8E8M0, "f8e8m0", 8, 12, 0, 0, 'x' },
	{ INGOT_U2, "u2", 2, 2, 0, 0, 'x' },
	{ INGOT_I2, "i2", 2, 2, 0, 0, 'x' },
	{ INGOT_U4X32, "u4x32", 128, 23, 0, 0, 'x' },
};

static int dtype_row(uint32_t dtype)
{
	for (size_t i = 0; i < COUNT(dtypes); i++)
		if (dtypes[i].dtype == dtype)
			return (int)i;
	return -1;
}

uint32_t ingot_dtype_bits(enum ingot_dtype dtype)
{
	int row = dtype_row(dtype);
	return row < 0 ? 0 : dtypes[row].bits;
}

bool ingot_dtype_bytes(enum ingot_dtype dtype, uint64_t count, uint64_t *bytes)
{
	uint64_t bits;
	if (!ingot_dtype_bits(dtype) || __builtin_mul_overflow(count, (uint64_t)ingot_dtype_bits(dtype), &bits))
		return false;
	*bytes = bits / 8 + (bits % 8 != 0);
	return true;
}

const char *ingot_dtype_name(enum ingot_dtype dtype)
{
	int row = dtype_row(dtype);
	return row < 0 ? "?" : dtypes[row].name;
}

bool ingot_dtype_parse(const char *text, enum ingot_dtype *dtype)
{
	for (size_t i = 0; text && dtype && i < COUNT(dtypes); i++)
		if (!strcmp(text, dtypes[i].name)) {
			*dtype = (enum ingot_dtype)dtypes[i].dtype;
			return true;
		}
	return false;
}

enum ingot_dtype ingot_dtype_promote(enum ingot_dtype a, enum ingot_dtype b)
{
	int x = dtype_row(a), y = dtype_row(b);
	if (x < 0 || y < 0)
		return x < 0 ? b : a;
	return dtypes[x].rank >= dtypes[y].rank ? a : b;
}

bool ingot_precision_update(
        struct ingot_precision_state *state, enum ingot_precision level, enum ingot_dtype dtype, char *why)
{
	enum ingot_dtype next = dtype;
	if ((unsigned)level > INGOT_PRECISION_SPECIFIED || !ingot_dtype_bits(dtype))
		return refuse(why, "no precision: %u %u", (unsigned)level, (unsigned)dtype);
	if (state->dtype && level < (enum ingot_precision)state->level)
		return true; /* what is decided better stays */
	if (state->dtype && level == (enum ingot_precision)state->level) {
		if (level == INGOT_PRECISION_SPECIFIED && state->dtype != (uint32_t)dtype)
			return refuse(why, "the type is specified as %s and cannot be %s",
			        ingot_dtype_name((enum ingot_dtype)state->dtype), ingot_dtype_name(dtype));
		if (level == INGOT_PRECISION_INFERRED)
			next = ingot_dtype_promote((enum ingot_dtype)state->dtype, dtype);
	}
	if (state->frozen && state->dtype != (uint32_t)next)
		return refuse(why, "the type was used as %s and cannot become %s",
		        ingot_dtype_name((enum ingot_dtype)state->dtype), ingot_dtype_name(next));
	state->level = level;
	state->dtype = next;
	return true;
}

/* ---- small floats: sign, exponent, mantissa, with subnormals; e4m3fn has no infinity and one NaN ---- */

static double small_get(uint32_t bits, int exponent, int mantissa)
{
	uint32_t all = (1u << exponent) - 1, e = bits >> mantissa & all, m = bits & ((1u << mantissa) - 1);
	int bias = (int)(all >> 1);
	double sign = bits >> (exponent + mantissa) & 1 ? -1 : 1;
	if (exponent == 4 ? e == all && m == 7 : e == all)
		return exponent != 4 && !m ? sign * (double)INFINITY : (double)NAN;
	if (!e)
		return sign * ldexp(m, 1 - bias - mantissa);
	return sign * ldexp((double)(m | 1u << mantissa), (int)e - bias - mantissa);
}

static uint32_t small_set(double value, int exponent, int mantissa)
{
	uint32_t all = (1u << exponent) - 1, sign = (uint32_t)(signbit(value) != 0) << (exponent + mantissa);
	int bias = (int)(all >> 1), power;
	double size = fabs(value), largest = exponent == 4 ? 448 : ldexp(2 - ldexp(1, -mantissa), bias);
	if (isnan(value))
		return sign | all << mantissa | (exponent == 4 ? 7u : 1u << (mantissa - 1));
	frexp(size, &power);
	power = power - 1 < 1 - bias ? 1 - bias : power - 1;
	double units = nearbyint(ldexp(size, mantissa - power));
	if (ldexp(units, power - mantissa) > largest || isinf(value))
		return sign | (exponent == 4 ? 0x7fu : all << mantissa);
	/* Units that round up to the next power carry into the exponent by themselves. */
	uint32_t coded = units < ldexp(1, mantissa) ? (uint32_t)units
	                                            : ((uint32_t)(power + bias - 1) << mantissa) + (uint32_t)units;
	return sign | coded;
}

double ingot_dtype_get(enum ingot_dtype dtype, const void *data, uint64_t index)
{
	int row = dtype_row(dtype);
	const unsigned char *at = data;
	uint64_t raw = 0;
	if (row < 0 || dtypes[row].kind == 'x')
		return 0;
	int bits = dtypes[row].bits;
	if (bits == 4)
		raw = at[index / 2] >> 4 * (index % 2) & 15;
	else { /* unaligned is fine; the host is little-endian or the size is a byte's */
		uint8_t u8;
		uint16_t u16;
		uint32_t u32;
		switch (bits) {
		case 8:
			memcpy(&u8, at + index, 1);
			raw = u8;
			break;
		case 16:
			memcpy(&u16, at + index * 2, 2);
			raw = u16;
			break;
		case 32:
			memcpy(&u32, at + index * 4, 4);
			raw = u32;
			break;
		default: memcpy(&raw, at + index * 8, 8);
		}
	}
	float single;
	double value;
	uint32_t low = (uint32_t)raw;
	switch (dtypes[row].kind) {
	case 'f':
		if (bits == 32) {
			memcpy(&single, &low, 4);
			return (double)single;
		}
		memcpy(&value, &raw, 8);
		return value;
	case 'm': return small_get(low, dtypes[row].exponent, dtypes[row].mantissa);
	case 'i': return (double)((int64_t)(raw << (64 - bits)) >> (64 - bits));
	case 'b': return raw != 0;
	default: return (double)raw;
	}
}

static uint64_t integer_of(double value, int bits, bool is_signed)
{
	double most = ldexp(1, bits - is_signed), least = is_signed ? -most : 0;
	if (isnan(value))
		return 0;
	value = nearbyint(value);
	if (value >= most)
		return (is_signed ? UINT64_MAX >> 1 : UINT64_MAX) >> (64 - bits);
	if (value <= least)
		return is_signed ? UINT64_C(1) << (bits - 1) : 0;
	return is_signed ? (uint64_t)(int64_t)value : (uint64_t)value;
}

void ingot_dtype_set(enum ingot_dtype dtype, void *data, uint64_t index, double value)
{
	int row = dtype_row(dtype);
	unsigned char *at = data;
	uint64_t raw = 0;
	if (row < 0 || dtypes[row].kind == 'x')
		return;
	int bits = dtypes[row].bits;
	float single = (float)value;
	uint32_t low;
	switch (dtypes[row].kind) {
	case 'f':
		memcpy(&low, &single, 4);
		raw = low;
		if (bits == 64)
			memcpy(&raw, &value, 8);
		break;
	case 'm': raw = small_set(value, dtypes[row].exponent, dtypes[row].mantissa); break;
	case 'b': raw = value != 0; break;
	default: raw = integer_of(value, bits, dtypes[row].kind == 'i');
	}
	uint8_t u8 = (uint8_t)raw;
	uint16_t u16 = (uint16_t)raw;
	uint32_t u32 = (uint32_t)raw;
	switch (bits) {
	case 4:
		at[index / 2] =
		        (unsigned char)((at[index / 2] & (index % 2 ? 0x0f : 0xf0)) | (raw & 15) << 4 * (index % 2));
		break;
	case 8: memcpy(at + index, &u8, 1); break;
	case 16: memcpy(at + index * 2, &u16, 2); break;
	case 32: memcpy(at + index * 4, &u32, 4); break;
	default: memcpy(at + index * 8, &raw, 8);
	}
}
