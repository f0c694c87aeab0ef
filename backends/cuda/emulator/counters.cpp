/* counters.cpp: what a GPU's counters would say of a kernel, from the emulator's accesses: bank conflicts of shared memory, by kernel and line, and races
 * between the blocks of a launch and between the threads of a block, which fail it.
 *
 * The kernels are compiled with -fsanitize=thread, and nothing of ThreadSanitizer is linked: each access then calls one of the functions below.  This file and
 * emulator.cpp are compiled without it.  Rows are appended to the file that $INGOT_EMULATOR_COUNTS names, one for each place of a launch that conflicts, and "all":
 *     kernel  lines (the innermost first, "<" before who inlined it)  requests  waves  waves without conflicts  most words of one bank
 *
 * Accesses of a warp from one place in the code, the n-th of each lane since its last barrier, are one request.  Shared memory answers it in waves of 32 words, one
 * from each of 32 banks: those of 8 bytes by halves of a warp, of 16 by quarters; lanes that want the same word get it together.  What stands side by side in
 * each lane, aligned, is one request: so ptxas loads it (docs/cuda-report.md has the widths).  A byte of global memory that one
 * block writes and another block of the launch touches is a race: blocks run in any order, or at once.  The emulator has no atomics, and no kernel of ingot's asks
 * for any.  What the compiler keeps in registers is no access: counts are of the C++ compiler's code, not of ptxas'.
 *
 * Two accesses of a block's threads to one byte, one of them a write, are ordered by a barrier of the block between them, of a warp for threads of that warp, or by
 * their thread; else they are a race, in whatever order they came here.  Two writes of one value are none.  An asynchronous copy writes when it is asked for
 * and when its thread has waited for it, and between both nobody may touch what it fills.  Of shared memory all bytes are looked at, of global memory those of
 * pages that have been written, in each launch the first two MiB. */
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

enum { WARP = 32, BANKS = 32, PAGE = 1024, CELL_PAGES = 2048 };

struct range {
	uintptr_t from, bytes;
	bool has(uintptr_t at) const { return at - from < bytes; }
};
struct request { uintptr_t at[WARP]; unsigned lanes; int bytes; bool write; };
/* Of a warp, since its last barrier. */
struct asked { std::vector<struct request> requests; size_t count; unsigned times[WARP]; };
struct place { uintptr_t code; long requests, waves, least; int most; std::vector<struct asked> warps; };
/* Blocks are numbered through all launches, so what an earlier one left says nothing. */
struct touched { unsigned writer, first, last; };

static struct range stacks, mailboxes, dynamic, statics;
static const char *kernel;
static std::unordered_map<uintptr_t, int> numbers;             /* of the places, by their code */
static std::vector<struct place> places;
static std::unordered_map<uintptr_t, struct touched *> pages;
static unsigned begin_blocks = 1, end_blocks = 1;              /* this launch's */
static bool running, raced;

/* A thread's access, or none: epochs are counted through all launches, from 1 on. */
struct access { unsigned epoch, warp_epoch; int thread; uintptr_t code; };
struct cell {
	struct access written, copying, read, beside, apart;    /* readers: the last one, the last other one of its warp, the last one of another warp */
};
static unsigned epoch = 1, warp_epochs[WARP], last_block;
static std::unordered_map<uintptr_t, struct cell *> cells;     /* of this launch, by page */
static struct { uintptr_t page; struct cell *cells; } near;    /* the last one */
/* A second write of what another thread has written: it is a race unless it leaves the value. */
static struct { uintptr_t at; int bytes, thread; unsigned char before[16]; uintptr_t code; struct access other; } doubted;

/* ---- where ---- */

/* "812<96": lines of the .cu, as far as addr2line knows. */
static const std::string &lines_of(uintptr_t code)
{
	static std::map<uintptr_t, std::string> known;
	std::string &lines = known[code];
	Dl_info info;
	char command[4096], line[4096];
	if (!lines.empty())
		return lines;
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
	return lines = lines.empty() ? "?" : lines;
}

/* ---- shared memory ---- */

static int waves_of(const struct request &r, int first, int count)
{
	uintptr_t words[4 * WARP];
	int n = 0, banks[BANKS] = { 0 };
	for (int lane = first; lane < first + count; lane++)
		for (uintptr_t w = r.at[lane] / 4; (r.lanes >> lane & 1) && w < (r.at[lane] + (uintptr_t)r.bytes + 3) / 4; w++)
			words[n++] = w;
	std::sort(words, words + n);
	n = (int)(std::unique(words, words + n) - words);
	for (int i = 0; i < n; i++)
		banks[words[i] % BANKS]++;
	return *std::max_element(banks, banks + BANKS);
}

/* Whether `next` wants what lies behind what `r` wants, in every lane, and both together are aligned. */
static bool goes_on(const struct request &r, const struct request &next)
{
	bool on = r.lanes == next.lanes && r.bytes == next.bytes && r.write == next.write;
	for (int lane = 0; lane < WARP && on; lane++)
		on = !(r.lanes >> lane & 1) || (next.at[lane] == r.at[lane] + (uintptr_t)r.bytes && r.at[lane] % (2 * (uintptr_t)r.bytes) == 0);
	return on;
}

/* Neighbours become one request of twice the width, and again. */
static void join(const std::vector<struct request *> &open, int bytes = 4)
{
	std::unordered_map<uintptr_t, struct request *> by_address;
	for (struct request *r : open)
		if (r->bytes == bytes)
			by_address[r->at[__builtin_ctz(r->lanes)]] = r;
	for (struct request *r : open) {
		if (r->bytes != bytes)
			continue;
		auto next = by_address.find(r->at[__builtin_ctz(r->lanes)] + (uintptr_t)bytes);
		if (next != by_address.end() && next->second->bytes == bytes && goes_on(*r, *next->second))
			r->bytes = 2 * bytes, next->second->bytes = 0;
	}
	if (bytes == 4)
		join(open, 8);
}

static void close_request(struct place &p, const struct request &r)
{
	int parts = r.bytes == 16 ? 4 : r.bytes == 8 ? 2 : 1;
	if (!r.bytes)
		return;
	p.requests++;
	for (int i = 0; i < parts; i++) {
		int waves = waves_of(r, i * WARP / parts, WARP / parts);
		p.waves += waves, p.least += waves > 0, p.most = std::max(p.most, waves);
	}
}

static void close_warp(size_t warp)
{
	std::vector<struct request *> open;
	for (size_t n = 0, more = 1; more; n++) {
		more = 0;
		open.clear();
		for (struct place &p : places)
			if (p.warps.size() > warp && p.warps[warp].count > n)
				more = 1, open.push_back(&p.warps[warp].requests[n]);
		join(open);
	}
	for (struct place &p : places) {
		if (p.warps.size() <= warp)
			continue;
		struct asked &a = p.warps[warp];
		for (size_t n = 0; n < a.count; n += 4) {       /* a loop over four, which ptxas unrolls */
			open.clear();
			for (size_t i = n; i < n + 4 && i < a.count; i++)
				open.push_back(&a.requests[i]);
			join(open);
		}
		for (size_t n = 0; n < a.count; n++)
			close_request(p, a.requests[n]);
		a.count = 0;
		memset(a.times, 0, sizeof a.times);
	}
}

static void meet(int first, int count);

void emulator_count_met(int first, int count)
{
	for (int warp = first / WARP; warp < (first + count + WARP - 1) / WARP; warp++)
		close_warp((size_t)warp);
	meet(first, count);
}

static void ask_shared(uintptr_t at, int bytes, bool write, uintptr_t code, int thread)
{
	auto found = numbers.emplace(code, (int)places.size());
	if (found.second)
		places.push_back({ code, 0, 0, 0, 0, {} });
	struct place &p = places[(size_t)found.first->second];
	size_t warp = (size_t)thread / WARP;
	if (p.warps.size() <= warp)
		p.warps.resize(warp + 1);
	struct asked &a = p.warps[warp];
	size_t n = a.times[thread % WARP]++;
	if (a.requests.size() <= n)
		a.requests.resize(2 * n + 4);
	for (; a.count <= n; a.count++)
		a.requests[a.count].lanes = 0, a.requests[a.count].bytes = bytes, a.requests[a.count].write = write;
	a.requests[n].at[thread % WARP] = at;
	a.requests[n].lanes |= 1u << thread % WARP;
}

/* ---- global memory ---- */

static void race(unsigned other, bool write, bool other_wrote, uintptr_t code, uintptr_t at)
{
	char what[300];
	unsigned b = other - begin_blocks;
	snprintf(what, sizeof what, "a race between blocks: it %s what block %u,%u,%u %s, byte %#lx of its page", write ? "writes" : "reads",
		b % gridDim.x, b / gridDim.x % gridDim.y, b / gridDim.x / gridDim.y, other_wrote ? "writes" : "reads", (unsigned long)(at % 4096));
	raced = true;
	emulator_fail(what, atoi(lines_of(code).c_str()));
}

static void touch_global(uintptr_t at, int bytes, bool write, uintptr_t code)
{
	static uintptr_t last_page = 0;
	static struct touched *last;
	unsigned me = begin_blocks + blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
	for (uintptr_t p = at; p < at + (uintptr_t)bytes && !raced; p++) {
		if (p / PAGE != last_page) {
			struct touched *&page = pages[p / PAGE];
			if (!page && !(page = (struct touched *)calloc(PAGE, sizeof *page)))
				abort();
			last_page = p / PAGE, last = page;
		}
		struct touched *t = last + p % PAGE;
		if (t->writer >= begin_blocks && t->writer != me)
			race(t->writer, write, true, code, p);
		else if (write && t->first >= begin_blocks && (t->first != me || t->last != me))
			race(t->first != me ? t->first : t->last, true, false, code, p);
		if (write)
			t->writer = me;
		else
			t->first = t->first >= begin_blocks ? t->first : me, t->last = me;
	}
}

/* ---- threads of a block ---- */

static void race_in_block(const struct access &other, const char *does, const char *did, uintptr_t code)
{
	char what[300];
	int line = atoi(lines_of(code).c_str());
	if (raced)
		return;
	snprintf(what, sizeof what, "a race in a block: it %s what thread %d %s at line %s, no barrier between", does, other.thread, did, lines_of(other.code).c_str());
	raced = true;
	emulator_fail(what, line);
}

static void look_at_doubted(void)
{
	if (doubted.bytes && memcmp((const void *)doubted.at, doubted.before, (size_t)doubted.bytes))
		race_in_block(doubted.other, "writes", "writes", doubted.code);
	doubted.bytes = 0;
}

static bool unordered(const struct access &a, int me)
{
	return a.epoch == epoch && a.thread != me && (a.thread / WARP != me / WARP || a.warp_epoch == warp_epochs[me / WARP]);
}

static void doubt(uintptr_t at, int bytes, int me, uintptr_t code, const struct access &other)
{
	if (doubted.bytes || bytes > (int)sizeof doubted.before)
		return;
	doubted.at = at, doubted.bytes = bytes, doubted.thread = me, doubted.code = code, doubted.other = other;
	memcpy(doubted.before, (const void *)at, (size_t)bytes);
}

static void keep_reader(struct cell *c, const struct access &now)
{
	if (c->read.thread != now.thread && c->read.epoch == epoch) {
		if (c->read.thread / WARP == now.thread / WARP)
			c->beside = c->read;
		else
			c->apart = c->read;
	}
	c->read = now;
}

/* NULL: it has none, and none is made. */
static struct cell *cell_at(uintptr_t at, bool made)
{
	if (near.page == at / PAGE && near.cells)
		return near.cells + at % PAGE;
	auto found = cells.find(at / PAGE);
	if (found == cells.end()) {
		if (!made || cells.size() == CELL_PAGES)
			return nullptr;
		found = cells.emplace(at / PAGE, (struct cell *)calloc(PAGE, sizeof(struct cell))).first;
		if (!found->second)
			abort();
	}
	near.page = at / PAGE, near.cells = found->second;
	return near.cells + at % PAGE;
}

static void drop_cells(void)
{
	for (auto &page : cells)
		free(page.second);
	cells.clear();
	near.cells = nullptr;
}

/* Where the copy was asked for that fills this byte. */
static uintptr_t copied_at(uintptr_t at)
{
	const struct cell *c = cell_at(at, false);
	return c ? c->copying.code : 0;
}

/* copying: -1: a copy that was asked for; 1: one that has landed; else 0. */
static void look_at_block(uintptr_t at, int bytes, bool write, uintptr_t code, int copying, bool everywhere)
{
	const int me = emulator_thread();
	const struct access now = { epoch, warp_epochs[me / WARP], me, code };
	for (uintptr_t p = at; p < at + (uintptr_t)bytes && !raced; p++) {
		struct cell *c = cell_at(p, write || everywhere);
		if (!c)
			continue;
		if (c->copying.epoch && copying <= 0)
			race_in_block(c->copying, write ? "writes" : "reads", "copies", code);
		else if (unordered(c->written, me) && (!write || copying))
			race_in_block(c->written, write ? "writes" : "reads", "writes", code);
		else if (unordered(c->written, me))
			doubt(at, bytes, me, code, c->written);
		for (const struct access *reader : { &c->read, &c->beside, &c->apart })
			if (write && unordered(*reader, me))
				race_in_block(*reader, "writes", "reads", code);
		if (write)
			c->written = now;
		else
			keep_reader(c, now);
		c->copying = copying < 0 ? now : access{};
	}
}

/* These threads are at a barrier. */
static void meet(int first, int count)
{
	look_at_doubted();
	if (count > WARP || (unsigned)count == blockDim.x * blockDim.y * blockDim.z)
		epoch++;
	else
		warp_epochs[first / WARP]++;
}

static void begin_block(void)
{
	unsigned block = begin_blocks + blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
	if (block == last_block)
		return;
	look_at_doubted();
	last_block = block;
	epoch++;
}

/* ---- accesses ---- */

static bool is_shared(uintptr_t at)
{
	return at - (uintptr_t)__start_emulated_shared < (uintptr_t)(__stop_emulated_shared - __start_emulated_shared) || dynamic.has(at);
}

static void note(uintptr_t at, int bytes, bool write, uintptr_t code, int copying = 0)
{
	if (!running || stacks.has(at))
		return;
	begin_block();
	look_at_doubted();
	if (is_shared(at)) {
		ask_shared(at, bytes, write, code, emulator_thread());
		look_at_block(at, bytes, write, code, copying, true);
	} else if (!mailboxes.has(at) && !statics.has(at) && !raced) {
		touch_global(at, bytes, write, code);
		look_at_block(at, bytes, write, code, 0, false);
	}
}

void emulator_count_copy(const void *to, const void *from, int bytes, int there, void *code)
{
	note((uintptr_t)to, bytes, true, (uintptr_t)code, -1);
	if (there)
		note((uintptr_t)from, bytes, false, (uintptr_t)code);
}

void emulator_count_landed(const void *to, int bytes)
{
	look_at_doubted();
	if (running && is_shared((uintptr_t)to))
		look_at_block((uintptr_t)to, bytes, true, copied_at((uintptr_t)to), 1, true);
}

#define NOTE(name, bytes, write) extern "C" void __tsan_##name(void *at) { note((uintptr_t)at, bytes, write, (uintptr_t)__builtin_return_address(0)); }
#define NOTES(bytes) NOTE(read##bytes, bytes, false) NOTE(write##bytes, bytes, true) NOTE(unaligned_read##bytes, bytes, false) NOTE(unaligned_write##bytes, bytes, true)
NOTES(1) NOTES(2) NOTES(4) NOTES(8) NOTES(16)
extern "C" void __tsan_read_range(void *at, unsigned long bytes) { note((uintptr_t)at, (int)bytes, false, (uintptr_t)__builtin_return_address(0)); }
extern "C" void __tsan_write_range(void *at, unsigned long bytes) { note((uintptr_t)at, (int)bytes, true, (uintptr_t)__builtin_return_address(0)); }
extern "C" void __tsan_func_entry(void *) {}
extern "C" void __tsan_func_exit(void) {}
extern "C" void __tsan_init(void) {}

/* ---- a launch ---- */

void emulator_count_begin(const struct emulator_counted *launch)
{
	uintptr_t at[] = { (uintptr_t)&threadIdx, (uintptr_t)&blockIdx, (uintptr_t)&blockDim, (uintptr_t)&gridDim };
	auto most = std::minmax_element(at, at + 4);
	statics = { *most.first, *most.second + sizeof gridDim - *most.first };
	stacks = { (uintptr_t)launch->stacks, launch->stack_bytes };
	mailboxes = { (uintptr_t)launch->mailboxes, launch->mailbox_bytes };
	dynamic = { (uintptr_t)launch->shared, launch->shared_bytes };
	kernel = launch->kernel;
	unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
	if (end_blocks + blocks < end_blocks) {                 /* the numbers are used up: all begins anew */
		for (auto &page : pages)
			memset(page.second, 0, PAGE * sizeof *page.second);
		end_blocks = 1;
	}
	begin_blocks = end_blocks, end_blocks += blocks;
	running = true, raced = false;
}

void emulator_count_end(void)
{
	const char *name = getenv("INGOT_EMULATOR_COUNTS");
	FILE *to = name && *name ? fopen(name, "a") : nullptr;
	emulator_count_met(0, (int)(blockDim.x * blockDim.y * blockDim.z));
	struct place all = { 0, 0, 0, 0, 0, {} };
	for (const struct place &p : places) {
		all.requests += p.requests, all.waves += p.waves, all.least += p.least, all.most = std::max(all.most, p.most);
		if (to && p.waves > p.least)
			fprintf(to, "%s\t%s\t%ld\t%ld\t%ld\t%d\n", kernel, lines_of(p.code).c_str(), p.requests, p.waves, p.least, p.most);
	}
	if (to) {
		fprintf(to, "%s\tall\t%ld\t%ld\t%ld\t%d\n", kernel, all.requests, all.waves, all.least, all.most);
		fclose(to);
	}
	look_at_doubted();
	drop_cells();
	places.clear(), numbers.clear(), running = false;
}
