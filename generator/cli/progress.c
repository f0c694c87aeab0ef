/* progress.c: how far the work is, on a terminal as a line that a thread draws anew, with --verbose as a line for each
 * stage; and signals that end it: the build fails at its next allocation, so that nothing is left behind, and the
 * process ends by the signal. */
#include "cli/cli.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { DRAWN_EACH = 200, GRACE = 2, COLUMNS = 79 }; /* milliseconds; seconds; of the line */
static const double SHOWN_AFTER = 1;                /* seconds */

/* One for the process, as signals are. */
static struct {
	const char *command, *stage; /* stage NULL: nothing was told yet */
	struct progress now;
	double begun, stage_begun; /* seconds */
	bool terminal, verbose, drawn, ends;
	pthread_t drawer;
	pthread_mutex_t lock;
	pthread_cond_t ended;
} shown = { .lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER };
static volatile sig_atomic_t stop, waited;

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the line ---- */
static void clear(void)
{
	if (shown.drawn)
		fputs("\r\033[K", stderr);
	shown.drawn = false;
}

static void draw(void)
{
	char line[256];
	const struct progress *now = &shown.now;
	double at = seconds(),
	       left = now->done ? (at - shown.stage_begun) * (double)(now->count - now->done) / (double)now->done : 0;
	if (!shown.stage || at - shown.begun < SHOWN_AFTER)
		return;
	int n = snprintf(line, sizeof line, "ingot %s: %s", shown.command, shown.stage);
	if (now->count)
		n += snprintf(line + n, sizeof line - (size_t)n, " %zu of %zu", now->done, now->count);
	if (now->running)
		n += snprintf(line + n, sizeof line - (size_t)n, ", %zu compiler%s", now->running,
		        now->running > 1 ? "s run" : " runs");
	n += snprintf(line + n, sizeof line - (size_t)n, ", %.1f s", at - shown.begun);
	if (left >= 1)
		snprintf(line + n, sizeof line - (size_t)n, ", about %.0f s left", left);
	fprintf(stderr, "\r%.*s\033[K", COLUMNS, line);
	shown.drawn = true;
}

static void *draws(void *unused)
{
	pthread_mutex_lock(&shown.lock);
	while (!shown.ends) {
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += DRAWN_EACH * 1000000L;
		until.tv_sec += until.tv_nsec / 1000000000L;
		until.tv_nsec %= 1000000000L;
		if (pthread_cond_timedwait(&shown.ended, &shown.lock, &until) == ETIMEDOUT)
			draw();
	}
	clear();
	pthread_mutex_unlock(&shown.lock);
	return unused;
}

static bool told(struct build *build, const struct progress *now)
{
	(void)build;
	pthread_mutex_lock(&shown.lock);
	bool begins = !shown.stage || strcmp(shown.stage, now->stage);
	if (begins)
		shown.stage_begun = seconds();
	shown.stage = now->stage;
	shown.now = *now;
	if (begins && shown.verbose) {
		clear();
		fprintf(stderr, "ingot %s: %s", shown.command, now->stage);
		fprintf(stderr, now->count ? ": %zu\n" : "\n", now->count);
	}
	pthread_mutex_unlock(&shown.lock);
	return false;
}

void progress_say(const char *line)
{
	pthread_mutex_lock(&shown.lock);
	clear();
	fputs(line, stderr);
	pthread_mutex_unlock(&shown.lock);
}

/* ---- signals ---- */
static void end_by(int number)
{
	signal(number, SIG_DFL);
	raise(number);
}

static void on_signal(int number)
{
	int kept = errno;
	if (stop && number == SIGPIPE)
		return; /* one more line that nobody reads */
	if (stop)
		end_by(number);
	stop = number;
	alarm(1); /* who waits is woken once more; where no allocation comes, the process ends as it is */
	errno = kept;
}

static void on_alarm(int number)
{
	(void)number;
	if (!stop)
		return;
	if (++waited == GRACE)
		end_by((int)stop);
	alarm(1);
}

static void catch_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
	struct sigaction old, action = { .sa_handler = on_signal }; /* calls that wait are interrupted */
	FOR (i, COUNT(numbers))
		if (!sigaction(numbers[i], NULL, &old) && old.sa_handler == SIG_DFL)
			sigaction(numbers[i], &action, NULL);
	action.sa_handler = on_alarm;
	sigaction(SIGALRM, &action, NULL);
}

void progress_begin(struct cli *cli)
{
	sigset_t all, before;
	shown.command = cli->command->name;
	shown.begun = seconds();
	shown.verbose = cli->flags.verbose;
	cli->build->told = told;
	cli->build->stop = &stop;
	catch_signals();
	if (!isatty(2))
		return;
	if (isatty(1)) /* what comes out stands behind the line, not in it */
		setvbuf(stdout, NULL, _IOFBF, 1 << 20);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before); /* signals are the first thread's */
	shown.terminal = !pthread_create(&shown.drawer, NULL, draws, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void progress_end(void)
{
	if (shown.terminal) {
		pthread_mutex_lock(&shown.lock);
		shown.ends = true;
		pthread_cond_signal(&shown.ended);
		pthread_mutex_unlock(&shown.lock);
		pthread_join(shown.drawer, NULL);
		shown.terminal = false;
	}
	if (stop)
		end_by((int)stop);
}
