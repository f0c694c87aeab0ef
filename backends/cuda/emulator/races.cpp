/* races.cpp: the emulator's accesses -> those that no barrier orders: races between the threads of a block and between the blocks of a launch, which fail it.
 *
 * The kernels are compiled with -fsanitize=thread, and nothing of ThreadSanitizer is linked: each access then calls one of the functions below.  This file and
 * emulator.cpp are compiled without it.  What the compiler keeps in registers is no access.
 *
 * Two accesses of a block's threads to one byte, one of them a write, are ordered by a barrier of the block between them, of a warp for threads of that warp, or by
 * their thread; else they are a race, in whatever order they came here.  Two writes of one value are none.  An asynchronous copy writes when it is asked for
 * and when its thread has waited for it, and between both nobody may touch what it fills.  A byte of global memory that one block writes and another block of the
 * launch touches is a race: blocks run in any order, or at once.  (The emulator has no atomics, and no kernel of ingot's asks for any.)
 *
 * Each word has a cell: who wrote it last, who read it last, and of the other readers the one that most writers have to fear.  That is all of them: two readers
 * of different blocks, of different warps since the last barrier, or of one warp since its own, race with any write that comes before the next one.  So a word that two
 * have read need not be looked at again till then, and that is what most reads find (`seen`). */
#include "emulator.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

extern "C" char __start_emulated_shared[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_emulated_shared[] __attribute__((weak, visibility("hidden")));

enum { WARP = 32, WARPS = 32, PAGE = 1024, NEAR = 1024, SEEN = 1 << 17, COPYING = 1 << 16, RELEASES = 1 << 15, WATCHED = EMULATOR_GROUPS + 32 };
static const uintptr_t STAMP = (uintptr_t)1 << 50;              /* above addresses of 47 bits and a width */

struct range {
	uintptr_t from, bytes;
	bool has(uintptr_t at) const { return at - from < bytes; }
};
/* Epochs are counted through all launches, from 1 on; 0: no access.  thread: of the block; and COPYING, till an asynchronous copy has landed; above that how many clocks
 * the thread had released, of RELEASES.  code: from `anchor` on.
 * Two words of 64 bits, as they are stored again and again. */
struct access {
	uint64_t when, who;
	unsigned epoch() const { return (unsigned)(when >> 32); }
	unsigned warp_epoch() const { return (unsigned)when; }
	unsigned thread() const { return (unsigned)who % COPYING; }
	bool copying() const { return who & COPYING; }
	unsigned releases() const { return (unsigned)who / (2 * COPYING); }
	int code() const { return (int)(who >> 32); }
};
struct cell { struct access written, read, other; };
/* Memory with a cell for each word, or, from its first access on that is no word's, each byte: a page, or shared memory. */
struct region { uintptr_t from, bytes; struct cell *cells; int shift; };

static struct range stacks, mailboxes, statics;
static struct region shared, dynamic;
static bool running, raced;
/* What comes before: of each warp the accesses of its epochs below, of each thread those before so many releases. */
struct clock {
	unsigned warps[WATCHED / WARP];
	uint64_t threads[WATCHED];
	void join(const struct clock &other)
	{
		for (int i = 0; i < WATCHED / WARP; i++)
			warps[i] = std::max(warps[i], other.warps[i]);
		for (int i = 0; i < WATCHED; i++)
			threads[i] = std::max(threads[i], other.threads[i]);
	}
};
static std::vector<struct clock> clocks, known;                /* known: by each thread, where there are clocks */
static uint64_t releases[WATCHED];
static bool acquired[WARPS];                                   /* since the warp has met */
static unsigned epoch = 1, launch_epoch, block_epoch, warp_epochs[WATCHED / WARP];
static std::vector<std::pair<unsigned, uint3>> blocks;         /* of this launch: from which epoch on */
static std::unordered_map<uintptr_t, struct region> pages;
static struct region *near[NEAR];
/* Reads of which another one says nothing new: where, how many bytes, and till the next barrier or the launch's end. */
static uintptr_t seen[SEEN], stamp = STAMP, launch_stamp;
/* A second write of what another thread has written: it is a race unless it leaves the value. */
static struct { uintptr_t at; int bytes; unsigned char before[16]; uintptr_t code; struct access other; } doubted;
static const char anchor = 0;

static inline int of_code(uintptr_t code) { return (int)(code - (uintptr_t)&anchor); }
static uintptr_t code_of(const struct access &a) { return (uintptr_t)&anchor + (uintptr_t)(intptr_t)a.code(); }

/* ---- what is said ---- */

/* "812<96": lines of the .cu, as far as addr2line knows. */
const char *emulator_lines_of(uintptr_t code)
{
	static std::map<uintptr_t, std::string> known;
	std::string &lines = known[code];
	Dl_info info;
	char command[4096], line[4096];
	if (!lines.empty())
		return lines.c_str();
	if (dladdr((void *)code, &info)) {
		snprintf(command, sizeof command, "addr2line -i -e '%s' %#lx 2>/dev/null", info.dli_fname, (unsigned long)(code - 1 - (uintptr_t)info.dli_fbase));
		FILE *from = popen(command, "r");
		while (from && fgets(line, sizeof line, from))         /* some call the .cu by the name of the file that includes it */
			if (const char *colon = strrchr(line, ':'))
				if (int number = strstr(line, "emulator.h") ? 0 : atoi(colon + 1))
					lines += (lines.empty() ? "" : "<") + std::to_string(number);
		if (from)
			pclose(from);
	}
	return (lines = lines.empty() ? "?" : lines).c_str();
}

static void race_between_blocks(const struct access &other, bool write, bool other_wrote, uintptr_t code, uintptr_t at)
{
	char what[300];
	auto after = std::upper_bound(blocks.begin(), blocks.end(), other.epoch(), [](unsigned e, const std::pair<unsigned, uint3> &b) { return e < b.first; });
	const uint3 b = after[-1].second;
	snprintf(what, sizeof what, "a race between blocks: it %s what block %u,%u,%u %s, byte %#lx of its page", write ? "writes" : "reads", b.x, b.y, b.z,
		other_wrote ? "writes" : "reads", (unsigned long)(at % 4096));
	raced = true;
	emulator_fail(what, atoi(emulator_lines_of(code)));
}

static void race_in_block(const struct access &other, const char *does, const char *did, uintptr_t code)
{
	char what[300];
	if (raced)
		return;
	snprintf(what, sizeof what, "a race in a block: it %s what thread %u %s at line %s, no barrier between", does, other.thread(), did, emulator_lines_of(code_of(other)));
	raced = true;
	emulator_fail(what, atoi(emulator_lines_of(code)));
}

/* ---- cells ---- */

static void region_make(struct region *r, uintptr_t from, uintptr_t bytes)
{
	free(r->cells);
	*r = { from, bytes, (struct cell *)calloc(bytes / 4 + 1, sizeof(struct cell)), 2 };
	if (!r->cells)
		abort();
}

static void region_split(struct region *r)
{
	struct cell *cells = (struct cell *)malloc(r->bytes * sizeof *cells);
	if (!cells)
		abort();
	for (uintptr_t i = 0; i < r->bytes; i++)
		cells[i] = r->cells[i / 4];
	free(r->cells);
	r->cells = cells, r->shift = 0;
}

static struct region *page_found(uintptr_t at)
{
	struct region *found = &pages[at / PAGE];
	if (!found->cells)
		region_make(found, at / PAGE * PAGE, PAGE);
	return near[at / PAGE % NEAR] = found;
}

static inline struct region *region_at(uintptr_t at)
{
	struct region *last = near[at / PAGE % NEAR];
	return at - shared.from < shared.bytes ? &shared : at - dynamic.from < dynamic.bytes ? &dynamic : last && at - last->from < PAGE ? last : page_found(at);
}

static bool is_shared(const struct region *r) { return r == &shared || r == &dynamic; }

static inline struct access access_now(unsigned me, uintptr_t code) { return { (uint64_t)epoch << 32 | warp_epochs[me / WARP], (uint64_t)of_code(code) << 32 | (releases[me] % RELEASES) * 2 * COPYING | me }; }

/* ---- who orders what ---- */

/* By a clock. */
static bool is_known(const struct access &a, unsigned me)
{
	const uint64_t now = releases[a.thread()], then = now - (now - a.releases()) % RELEASES;
	return !known.empty() && (known[me].warps[a.thread() / WARP] > a.warp_epoch() || known[me].threads[a.thread()] > then);
}

static inline bool unordered(const struct access &a, unsigned me)
{
	return a.epoch() == epoch && a.thread() != me && (a.thread() / WARP != me / WARP || a.warp_epoch() == warp_epochs[me / WARP]) && !is_known(a, me);
}

/* An access of another block of this launch.  Shared memory is a block's own: what an earlier one left there says nothing. */
static inline bool foreign(const struct access &a, bool own) { return !own && a.epoch() >= launch_epoch && a.epoch() < block_epoch; }

/* How many of the writers that may come it races with, beside those that race with `me`. */
static inline int fear(const struct access &a, unsigned me, bool own)
{
	return foreign(a, own) ? 3 : !unordered(a, me) ? 0 : a.thread() / WARP != me / WARP ? 2 : 1;
}

static inline void look_at_doubted(void)
{
	if (doubted.bytes && memcmp((const void *)doubted.at, doubted.before, (size_t)doubted.bytes))
		race_in_block(doubted.other, "writes", "writes", doubted.code);
	doubted.bytes = 0;
}

static void doubt(uintptr_t at, int bytes, uintptr_t code, const struct access &other)
{
	if (doubted.bytes || bytes > (int)sizeof doubted.before)
		return;
	doubted.at = at, doubted.bytes = bytes, doubted.code = code, doubted.other = other;
	memcpy(doubted.before, (const void *)at, (size_t)bytes);
}

/* copying: -1: a copy that was asked for; 1: one that has landed; else 0.  own: of shared memory */
struct asked {
	uintptr_t at;
	int bytes;
	bool write;
	int copying;
	uintptr_t code;
	bool own;
};

static void look_at_writer(const struct access &w, const struct asked &a, unsigned me)
{
	if (foreign(w, a.own))
		race_between_blocks(w, a.write, true, a.code, a.at);
	else if (w.epoch() >= block_epoch && w.copying() && a.copying <= 0)
		race_in_block(w, a.write ? "writes" : "reads", "copies", a.code);
	else if (!w.copying() && unordered(w, me)) {
		if (a.write && !a.copying)
			doubt(a.at, a.bytes, a.code, w);
		else
			race_in_block(w, a.write ? "writes" : "reads", "writes", a.code);
	}
}

static void look_at_reader(const struct access &reader, const struct asked &a, unsigned me)
{
	if (foreign(reader, a.own) && !raced)
		race_between_blocks(reader, true, false, a.code, a.at);
	else if (unordered(reader, me))
		race_in_block(reader, "writes", "reads", a.code);
}

enum known { NEW, KNOWN_TILL_BARRIER, KNOWN_IN_LAUNCH };

/* How long another read says nothing new. */
static inline enum known keep_reader(struct cell *c, const struct access &now, unsigned settled, bool own)
{
	const struct access last = c->read;
	int most = 3;
	c->read = now;
	if (last.epoch() < settled)                             /* and so is the other one, which came before it */
		return NEW;
	if (!foreign(c->other, own)) {
		const int of_last = fear(last, now.thread(), own), of_other = fear(c->other, now.thread(), own);
		if (of_last >= of_other)
			c->other = last;
		most = std::max(of_last, of_other);
	}
	return most == 3 ? KNOWN_IN_LAUNCH : most && c->written.epoch() != epoch ? KNOWN_TILL_BARRIER : NEW;
}

/* How long another read like this one says nothing new. */
static inline __attribute__((always_inline)) enum known look(struct asked a)
{
	struct region *r = region_at(a.at);
	const unsigned me = (unsigned)emulator_current, settled = is_shared(r) ? epoch : launch_epoch;  /* what came before says nothing, but for copies on their way */
	struct access now = access_now(me, a.code);
	now.who |= a.copying < 0 ? COPYING : 0;
	const bool word = (a.at | (uintptr_t)a.bytes) % 4 == 0;
	enum known known = KNOWN_IN_LAUNCH;
	if (r->shift && !word)
		region_split(r);
	struct cell *c = r->cells + ((a.at - r->from) >> r->shift);
	const struct cell *last = r->cells + ((a.at - r->from + (uintptr_t)a.bytes - 1) >> r->shift);
	a.own = is_shared(r);
	do {
		if (c->written.epoch() >= settled || c->written.copying())
			look_at_writer(c->written, a, me);
		if (!a.write)
			known = std::min(known, keep_reader(c, now, settled, a.own));
		else {
			if (c->read.epoch() >= settled)
				look_at_reader(c->read, a, me), look_at_reader(c->other, a, me);
			c->written = now;
		}
	} while (c++ < last);
	return known;
}

/* ---- accesses ---- */

static inline uintptr_t key_of(uintptr_t at, int bytes) { return at * 8 + (uintptr_t)__builtin_ctz((unsigned)bytes); }
static inline uintptr_t &seen_at(uintptr_t at, int bytes) { return seen[(at >> __builtin_ctz((unsigned)bytes)) % SEEN]; }

/* How long it says nothing new if it is a read. */
static __attribute__((noinline)) enum known note(uintptr_t at, int bytes, bool write, uintptr_t code, int copying = 0)
{
	if (!running || raced || stacks.has(at) || mailboxes.has(at) || statics.has(at))
		return running ? KNOWN_IN_LAUNCH : NEW;
	if (emulator_count_access && is_shared(region_at(at)))
		emulator_count_access(at, bytes, write, code, emulator_current);
	if (doubted.bytes)
		look_at_doubted();
	const int first = at % PAGE + (uintptr_t)bytes > PAGE ? (int)(PAGE - at % PAGE) : bytes;       /* on one page */
	enum known known = look({ at, first, write, copying, code, false });
	for (int done = first; done < bytes; done += PAGE)
		known = std::min(known, look({ at + (uintptr_t)done, std::min(bytes - done, (int)PAGE), write, copying, code, false }));
	return emulator_count_access ? NEW : known;
}

/* A word of shared memory that nobody writes till the next barrier, and one or none has read: what note() does of it.  false: it is something else. */
static inline bool note_word(uintptr_t at, uintptr_t code, enum known *known)
{
	if (at - shared.from >= shared.bytes || shared.shift != 2 || doubted.bytes || raced || emulator_count_access)
		return false;
	struct cell *c = shared.cells + (at - shared.from) / 4;
	const struct access read = c->read;
	const unsigned me = (unsigned)emulator_current;
	if (c->written.epoch() == epoch || c->written.copying() || (read.epoch() == epoch && c->other.epoch() == epoch))
		return false;
	c->read = access_now(me, code);
	*known = NEW;
	if (read.epoch() == epoch && read.thread() != me) {
		c->other = read;
		*known = unordered(read, me) ? KNOWN_TILL_BARRIER : NEW;
	}
	return true;
}

static __attribute__((noinline)) void note_read(uintptr_t at, int bytes, uintptr_t code)
{
	uintptr_t &slot = seen_at(at, bytes);
	enum known known;
	if (slot == key_of(at, bytes) + launch_stamp)
		return;
	if (bytes != 4 || at % 4 || !note_word(at, code, &known))
		known = note(at, bytes, false, code);
	if (known)
		slot = key_of(at, bytes) + (known == KNOWN_IN_LAUNCH ? launch_stamp : stamp);
}

void emulator_watch_copy(const void *to, const void *from, int bytes, int there, void *code)
{
	note((uintptr_t)to, bytes, true, (uintptr_t)code, -1);
	if (there)
		note_read((uintptr_t)from, bytes, (uintptr_t)code);
}

void emulator_watch_landed(const void *to, int bytes)
{
	const uintptr_t at = (uintptr_t)to;
	look_at_doubted();
	const struct region *r = region_at(at);
	if (running && !raced && is_shared(r))
		look({ at, bytes, true, 1, code_of(r->cells[(at - r->from) >> r->shift].written), true });
}

void emulator_watch_write(const void *to, int bytes, uintptr_t code) { note((uintptr_t)to, bytes, true, code); }

void emulator_watch_filled(const void *to, int bytes)
{
	struct region *r = region_at((uintptr_t)to);
	for (uintptr_t i = ((uintptr_t)to - r->from) >> r->shift; running && i <= ((uintptr_t)to + (uintptr_t)bytes - 1 - r->from) >> r->shift; i++)
		r->cells[i].written.who &= ~(uint64_t)COPYING;
}

/* What another one reads, of whole words; keep: now, else it will, and has to come behind who has written. */
void emulator_watch_read(const void *from, int bytes, int thread, uintptr_t code, bool keep)
{
	const uintptr_t at = (uintptr_t)from;
	struct region *r = region_at(at);
	const bool own = is_shared(r);
	look_at_doubted();
	for (uintptr_t i = (at - r->from) >> r->shift; running && !raced && i <= (at + (uintptr_t)bytes - 1 - r->from) >> r->shift; i++) {
		struct cell *c = &r->cells[i];
		if (c->written.epoch() >= (own ? epoch : launch_epoch) || c->written.copying())
			look_at_writer(c->written, { at, bytes, false, 0, code, own }, (unsigned)thread);
		if (keep)
			keep_reader(c, access_now((unsigned)thread, code), own ? epoch : launch_epoch, own);
	}
}

/* Nearly all reads end at the first comparison. */
#define HIDDEN extern "C" __attribute__((visibility("hidden"))) void
#define READ(name, bytes) HIDDEN __tsan_##name(uintptr_t at) { if (seen_at(at, bytes) != key_of(at, bytes) + stamp) note_read(at, bytes, (uintptr_t)__builtin_return_address(0)); }
#define WRITE(name, bytes) HIDDEN __tsan_##name(uintptr_t at) { note(at, bytes, true, (uintptr_t)__builtin_return_address(0)); }
#define BOTH(bytes) READ(read##bytes, bytes) READ(unaligned_read##bytes, bytes) WRITE(write##bytes, bytes) WRITE(unaligned_write##bytes, bytes)
BOTH(1) BOTH(2) BOTH(4) BOTH(8) BOTH(16)
HIDDEN __tsan_read_range(uintptr_t at, unsigned long bytes) { note(at, (int)bytes, false, (uintptr_t)__builtin_return_address(0)); }
HIDDEN __tsan_write_range(uintptr_t at, unsigned long bytes) { note(at, (int)bytes, true, (uintptr_t)__builtin_return_address(0)); }
HIDDEN __tsan_func_entry(void *) {}
HIDDEN __tsan_func_exit(void) {}
HIDDEN __tsan_init(void) {}

/* ---- clocks ---- */

/* What has been seen is forgotten. */
static void next_stamp(void)
{
	if (!(stamp += STAMP)) {
		memset(seen, 0, sizeof seen);
		launch_stamp = STAMP, stamp = 2 * STAMP;
	}
}

int emulator_watch_clock(void)
{
	if (known.empty())
		known.resize(WATCHED);
	clocks.push_back({});
	return (int)clocks.size() - 1;
}

void emulator_watch_release(int clock, int thread)
{
	struct clock &c = clocks[(size_t)clock];
	look_at_doubted();
	c.join(known[(size_t)thread]);
	c.warps[thread / WARP] = std::max(c.warps[thread / WARP], warp_epochs[thread / WARP]);
	c.threads[thread] = ++releases[thread];
	next_stamp();
}

void emulator_watch_acquire(int clock, int thread)
{
	look_at_doubted();
	known[(size_t)thread].join(clocks[(size_t)clock]);
	if (thread < EMULATOR_GROUPS)
		acquired[thread / WARP] = true;
	next_stamp();
}

void emulator_watch_join(int clock, int with, bool begin)
{
	if (begin)
		clocks[(size_t)clock] = {};
	if (with >= 0)
		clocks[(size_t)clock].join(clocks[(size_t)with]);
}

/* Who has met knows what each of them knew. */
static void share_known(int first, int count)
{
	struct clock all = known[(size_t)first];
	for (int i = first + 1; i < first + count; i++)
		all.join(known[(size_t)i]);
	for (int i = first; i < first + count; i++)
		known[(size_t)i] = all;
}

/* ---- a launch ---- */

void emulator_watch_met(int first, int count)
{
	look_at_doubted();
	if (count > WARP || (unsigned)count == blockDim.x * blockDim.y * blockDim.z)
		epoch++;
	else
		warp_epochs[first / WARP]++;
	for (int warp = first / WARP; !known.empty() && warp < (first + count + WARP - 1) / WARP; warp++)
		if (acquired[warp])
			share_known(WARP * warp, WARP), acquired[warp] = false;
	next_stamp();
	if (emulator_count_met)
		emulator_count_met(first, count);
}

void emulator_watch_block(void)
{
	block_epoch = ++epoch;
	clocks.clear();
	blocks.push_back({ epoch, blockIdx });
	next_stamp();
}

void emulator_watch_begin(const struct emulator_watched *launch)
{
	uintptr_t at[] = { (uintptr_t)&threadIdx, (uintptr_t)&blockIdx, (uintptr_t)&blockDim, (uintptr_t)&gridDim };
	auto most = std::minmax_element(at, at + 4);
	statics = { *most.first, *most.second + sizeof gridDim - *most.first };
	stacks = { (uintptr_t)launch->stacks, launch->stack_bytes };
	mailboxes = { (uintptr_t)launch->mailboxes, launch->mailbox_bytes };
	if (!shared.cells)
		region_make(&shared, (uintptr_t)__start_emulated_shared, (uintptr_t)(__stop_emulated_shared - __start_emulated_shared));
	region_make(&dynamic, (uintptr_t)launch->shared, launch->shared_bytes);
	blocks.clear();
	launch_epoch = ++epoch;
	next_stamp();
	launch_stamp = stamp;
	running = true, raced = false;
}

void emulator_watch_end(const char *kernel)
{
	look_at_doubted();
	running = false;
	next_stamp();
	if (emulator_count_end)
		emulator_count_end(kernel);
}
