/* text.c: text into the caller's room, counting what did not fit; JSON strings. */
#include "inside.h"
#if INGOT_THREADS
#include <time.h>
#endif

void sink_printf(struct sink *sink, const char *format, ...)
{
	va_list arguments;
	bool fits = sink->at && sink->count < sink->room;
	va_start(arguments, format);
	int length =
	        vsnprintf(fits ? sink->at + sink->count : NULL, fits ? sink->room - sink->count : 0, format, arguments);
	va_end(arguments);
	sink->count += length > 0 ? (size_t)length : 0;
}

void sink_string(struct sink *sink, const char *text)
{
	sink_printf(sink, "\"");
	for (const unsigned char *c = (const unsigned char *)(text ? text : ""); *c; c++) {
		/* Bytes past ASCII are written as the code point of the same number: labels may hold any bytes. */
		if (*c == '"' || *c == '\\')
			sink_printf(sink, "\\%c", *c);
		else if (*c < 32 || *c > 126)
			sink_printf(sink, "\\u%04x", *c);
		else
			sink_printf(sink, "%c", *c);
	}
	sink_printf(sink, "\"");
}

size_t sink_end(struct sink *sink)
{
	if (sink->at && sink->room && !sink->count)
		sink->at[0] = 0;
	return sink->count;
}

/* ---- the words of small enums, as text and back ---- */

static const char *word(const char *const *words, size_t count, unsigned value)
{
	return value < count ? words[value] : "?";
}

static bool word_parse(const char *const *words, size_t count, const char *text, int *value)
{
	for (size_t i = 0; text && i < count; i++)
		if (!strcmp(text, words[i])) {
			*value = (int)i;
			return true;
		}
	return false;
}

#define WORDS(type, ...) \
	static const char *const type##_words[] = { __VA_ARGS__ }; \
	const char *ingot_##type##_name(enum ingot_##type value) \
	{ \
		return word(type##_words, COUNT(type##_words), (unsigned)value); \
	} \
	bool ingot_##type##_parse(const char *text, enum ingot_##type *out) \
	{ \
		int value; \
		bool known = out && word_parse(type##_words, COUNT(type##_words), text, &value); \
		if (known) \
			*out = (enum ingot_##type)value; \
		return known; \
	}
WORDS(parallelism, "for_copying", "only_devices", "most_streams")
WORDS(merge, "none", "copy", "streaming")
WORDS(slab_mode, "private", "shared", "pinned")

uint64_t clock_nanoseconds(void)
{
#if INGOT_THREADS
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#else
	return 0; /* no trace is kept */
#endif
}
