/* status.c: statuses -> words; the sentence of a thread's last failure. */
#include "inside.h"

static THREAD_LOCAL char message[TEXT_ROOM + 80];

static const struct {
	const char *name, *text;
} statuses[INGOT_STATUS_COUNT] = {
#define S(name, text) [name] = { #name, text },
	S(INGOT_OK, "no failure") S(INGOT_MEMORY, "out of memory") S(INGOT_INVALID, "an argument is invalid") S(
	        INGOT_STALE, "the handle is stale") S(INGOT_RANGE, "out of range") S(INGOT_MISSING,
	        "not there") S(INGOT_PRESENT, "already there") S(INGOT_BUSY, "others depend on it") S(INGOT_FAILED,
	        "a task failed") S(INGOT_DEPENDENCY, "something it depends on failed") S(INGOT_CANCELLED, "cancelled")
	        S(INGOT_STOPPED, "the stream has stopped") S(INGOT_WOULD_BLOCK, "it would wait for ever") S(
	                INGOT_CYCLE, "it would wait for itself") S(INGOT_MISMATCH, "two things that must agree differ")
	                S(INGOT_CONFLICT, "two decisions contradict each other")
	                        S(INGOT_UNSUPPORTED, "the device cannot do it") S(INGOT_UNREADY, "not ready yet") S(
	                                INGOT_DEVICE, "the backend failed") S(INGOT_LEFT_OPEN, "handles were left open")
	                                S(INGOT_LOST, "the device is lost") S(INGOT_TIMEOUT, "not done by the deadline")
#undef S
};

const char *ingot_status_name(enum ingot_status status)
{
	return (unsigned)status < INGOT_STATUS_COUNT ? statuses[status].name : "?";
}

const char *ingot_status_text(enum ingot_status status)
{
	return (unsigned)status < INGOT_STATUS_COUNT ? statuses[status].text : "?";
}

const char *ingot_message(void) { return message; }

enum ingot_status say(enum ingot_status status, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	return status;
}

enum ingot_status say_failure(const struct failure *failure) { return say(failure->status, "%s", failure->text); }
