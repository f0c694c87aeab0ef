/* counters.cpp: what a GPU's counters would say of a kernel, from the emulator's accesses: bank conflicts of shared memory, by kernel and line, and races
 * between the blocks of a launch, which fail it.
 *
 * The kernels are compiled with -fsanitize=thread, and nothing of ThreadSanitizer is linked: each access then calls one of the functions below.  This file and
 * emulator.cpp are compiled without it.  Rows are appended to the file that $INGOT_EMULATOR_COUNTS names, one for each place of a launch that conflicts, and "all":
 *     kernel  lines (the innermost first, "<" before who inlined it)  requests  waves  waves without conflicts  most words of one bank
 *
 * Accesses of a warp from one place in the code, the n-th of each lane since its last barrier, are one request.  Shared memory answers it in waves of 32 words, one
 * from each of 32 banks: those of 8 bytes by halves of a warp, of 16 by quarters; lanes that want the same word get it together.  What stands side by side in
 * each lane, aligned, is one request: so ptxas loads it (docs/cuda-report.md has the widths).  A byte of global memory that one
 * block writes and another block of the launch touches is a race: blocks run in any order, or at once.  The emulator has no atomics, and no kernel of ingot's asks
 * for any.  What the compiler keeps in registers is no access: counts are of the C++ compiler's code, not of ptxas'. */
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

enum { WARP = 32, BANKS = 32, PAGE = 1024 };

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

void emulator_count_met(int first, int count)
{
	for (int warp = first / WARP; warp < (first + count + WARP - 1) / WARP; warp++)
		close_warp((size_t)warp);
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

/* ---- accesses ---- */

static void note(uintptr_t at, int bytes, bool write, uintptr_t code)
{
	if (!running || stacks.has(at))
		return;
	if (at - (uintptr_t)__start_emulated_shared < (uintptr_t)(__stop_emulated_shared - __start_emulated_shared) || dynamic.has(at))
		ask_shared(at, bytes, write, code, emulator_thread());
	else if (!mailboxes.has(at) && !statics.has(at) && !raced)
		touch_global(at, bytes, write, code);
}

void emulator_count_copy(const void *to, const void *from, int bytes, int there, void *code)
{
	note((uintptr_t)to, bytes, true, (uintptr_t)code);
	if (there)
		note((uintptr_t)from, bytes, false, (uintptr_t)code);
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
	places.clear(), numbers.clear(), running = false;
}
