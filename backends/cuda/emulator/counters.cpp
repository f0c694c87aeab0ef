/* counters.cpp: what a GPU's counters would say of a kernel, from the emulator's accesses (races.cpp): bank conflicts of shared memory, by kernel and line.
 *
 * Rows are appended to the file that $INGOT_EMULATOR_COUNTS names, one for each place of a launch that conflicts, and "all":
 *     kernel  lines (the innermost first, "<" before who inlined it)  requests  waves  waves without conflicts  most words of one bank
 *
 * Accesses of a warp from one place in the code, the n-th of each lane since its last barrier, are one request.  Shared memory answers it in waves of 32 words, one
 * from each of 32 banks: those of 8 bytes by halves of a warp, of 16 by quarters; lanes that want the same word get it together.  What stands side by side in
 * each lane, aligned, is one request: so ptxas loads it (docs/cuda-report.md has the widths).  Counts are of the C++ compiler's code, not of ptxas'. */
#include "emulator.h"
#include <stdio.h>
#include <stdlib.h>
#include <algorithm>
#include <unordered_map>
#include <vector>

enum { WARP = 32, BANKS = 32 };

struct request { uintptr_t at[WARP]; unsigned lanes; int bytes; bool write; };
/* Of a warp, since its last barrier. */
struct asked { std::vector<struct request> requests; size_t count; unsigned times[WARP]; };
struct place { uintptr_t code; long requests, waves, least; int most; std::vector<struct asked> warps; };

static std::unordered_map<uintptr_t, int> numbers;             /* of the places, by their code */
static std::vector<struct place> places;

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

void emulator_count_access(uintptr_t at, int bytes, bool write, uintptr_t code, int thread)
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

void emulator_count_end(const char *kernel)
{
	const char *name = getenv("INGOT_EMULATOR_COUNTS");
	FILE *to = name && *name ? fopen(name, "a") : nullptr;
	emulator_count_met(0, (int)(blockDim.x * blockDim.y * blockDim.z));
	struct place all = { 0, 0, 0, 0, 0, {} };
	for (const struct place &p : places) {
		all.requests += p.requests, all.waves += p.waves, all.least += p.least, all.most = std::max(all.most, p.most);
		if (to && p.waves > p.least)
			fprintf(to, "%s\t%s\t%ld\t%ld\t%ld\t%d\n", kernel, emulator_lines_of(p.code), p.requests, p.waves, p.least, p.most);
	}
	if (to) {
		fprintf(to, "%s\tall\t%ld\t%ld\t%ld\t%d\n", kernel, all.requests, all.waves, all.least, all.most);
		fclose(to);
	}
	places.clear(), numbers.clear();
}
