/* hopper.cpp: barriers that count bytes, boxes of tensors, products of warpgroups and the asynchronous proxy (hopper.h), on the fibers of emulator.cpp.
 *
 * The proxy's view is a copy of shared memory, made at each fence.proxy.async: boxes fill both, products and stores read it, and where it differs from what is there now no
 * fence stands between.  A fence publishes what all threads have written, not its own and what is ordered before it alone. */
#include "hopper.h"
#include <stdio.h>
#include <stdlib.h>
#include <algorithm>
#include <deque>
#include <map>
#include <vector>

extern "C" char __start_emulated_shared[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_emulated_shared[] __attribute__((weak, visibility("hidden")));

enum { GROUP = 128, GROUPS = 8, MOST_COLUMNS = 256, DWORDS = 8, ROW = 128, ALIGNED_TO = 1024, REGISTERS = 65536, MOST_REGISTERS = 255 };
static const uint32_t UNKNOWN = 0x7fffffff;                    /* a sum that nobody has waited for: a NaN */

/* Threads that meet: the last one goes on at once, the others when it has come. */
struct meeting { int arrived, line, threads; unsigned generation; int clock; };
/* filling: what those release who arrive in this phase; complete: what those acquire who wait for the last one. */
struct mbarrier { int arrivals, pending; long bytes; unsigned phase; bool fenced; int by, filling, complete; };
struct load { uint32_t to, barrier; struct emulator_map map; int x, y, clock, line; };
struct store { struct emulator_map map; uint32_t from; int x, y, group, line; bool read, awaited; std::vector<unsigned char> bytes; uintptr_t code; };
struct product { uint64_t a, b; int columns, keep, group, line; emulator_add add; bool done; uintptr_t code; std::vector<uint32_t *> d; };
struct sums { std::vector<uint32_t> values; int open; };
struct warpgroup {
	struct meeting meeting;
	struct product asked;                                   /* by those that have met so far */
	std::deque<struct product> products;
	std::map<uint32_t *, struct sums> sums;                 /* by the first thread's */
	int groups, registers, issued, done;                    /* the last two are clocks */
	bool fenced, late;
};
struct stores { std::deque<struct store> open; int groups; };

static std::map<uint32_t, struct mbarrier> barriers;
static std::deque<struct load> loads;
static std::deque<bool *> awaited;                             /* products that come when nothing else goes on */
static std::vector<struct warpgroup> warpgroups;
static std::vector<struct stores> stores;
static struct meeting named[16];
static std::vector<unsigned char> view;
static unsigned char *dynamic;
static uint32_t dynamic_at, shared_end;
static int registers_left;
static bool begun;                                             /* this block has asked for something of these */

/* ---- shared memory ---- */

static unsigned char *statics(void) { return (unsigned char *)((uintptr_t)__start_emulated_shared / ALIGNED_TO * ALIGNED_TO); }
static unsigned char *pointer_of(uint32_t at) { return at >= dynamic_at ? dynamic + (at - dynamic_at) : statics() + at; }

uint32_t emulator_shared_address(const void *p)
{
	const uintptr_t at = (uintptr_t)p;
	if (dynamic && at >= (uintptr_t)dynamic && at < (uintptr_t)dynamic + (shared_end - dynamic_at))
		return dynamic_at + (uint32_t)(at - (uintptr_t)dynamic);
	return (uint32_t)(at - (uintptr_t)statics());
}

static bool is_shared(uint32_t at, int bytes) { return at < shared_end && (uint32_t)bytes <= shared_end - at; }

void emulator_async_block(void *shared, size_t bytes)
{
	dynamic = (unsigned char *)shared;
	dynamic_at = (uint32_t)(((uintptr_t)__stop_emulated_shared - (uintptr_t)statics() + ALIGNED_TO - 1) / ALIGNED_TO * ALIGNED_TO);
	shared_end = dynamic_at + (uint32_t)bytes;
	begun = false;
}

static int clock_new(void) { return emulator_watch_clock ? emulator_watch_clock() : 0; }

static void begin(void)
{
	const int threads = (int)(blockDim.x * blockDim.y * blockDim.z), each = std::min(REGISTERS / threads, (int)MOST_REGISTERS) / 8 * 8;
	if (begun)
		return;
	begun = true;
	view.clear(), barriers.clear(), loads.clear(), awaited.clear();
	warpgroups.clear(), warpgroups.resize((size_t)(threads + GROUP - 1) / GROUP);
	stores.clear(), stores.resize((size_t)threads);
	for (struct meeting &m : named)
		m = {};
	for (struct warpgroup &w : warpgroups)
		w.registers = each, w.issued = clock_new(), w.done = clock_new();
	registers_left = 0;
}

/* As it was when the block began: nothing is a number. */
static unsigned char *viewed(void)
{
	begin();
	if (view.empty())
		view.assign(shared_end, 0xff);
	return view.data();
}

void emulator_proxy_fence(void)
{
	unsigned char *to = viewed();
	const size_t fixed = (size_t)((uintptr_t)__stop_emulated_shared - (uintptr_t)__start_emulated_shared);
	memcpy(to + ((uintptr_t)__start_emulated_shared - (uintptr_t)statics()), __start_emulated_shared, fixed);
	if (dynamic)
		memcpy(to + dynamic_at, dynamic, shared_end - dynamic_at);
	emulator_mbarrier_fence();
}

/* What the proxy sees; it has to be what is there. */
static const unsigned char *seen(uint32_t at, int bytes, const char *what, int line)
{
	if (!is_shared(at, bytes))
		emulator_fail("the asynchronous proxy touches what is no shared memory of this block", line), at = 0;
	else if (memcmp(viewed() + at, pointer_of(at), (size_t)bytes))
		emulator_fail(what, line);
	return viewed() + at;
}

/* ---- meetings and clocks ---- */

static void release(int clock, int thread)
{
	if (emulator_watch_release)
		emulator_watch_release(clock, thread);
}
static void acquire(int clock, int thread)
{
	if (emulator_watch_acquire)
		emulator_watch_acquire(clock, thread);
}

struct met { const struct meeting *meeting; unsigned generation; };
static bool has_met(const void *of) { return ((const struct met *)of)->meeting->generation != ((const struct met *)of)->generation; }

/* True for the last of them, before the others go on. */
static bool meets(struct meeting *m, int threads) { return m->arrived + 1 == threads; }
static void meet(struct meeting *m, int threads, const char *what, int line)
{
	const struct met until = { m, m->generation };
	if (++m->arrived == threads)
		m->arrived = 0, m->generation++;
	else
		emulator_wait_until(has_met, &until, what, line);
}

static struct warpgroup *group_of(int thread)
{
	begin();
	return &warpgroups[(size_t)thread / GROUP];
}

/* Of all that a warpgroup does together: each thread at the same line. */
static struct warpgroup *group_at(int line)
{
	struct warpgroup *w = group_of(emulator_current);
	if (w->meeting.arrived && w->meeting.line != line)
		emulator_fail("a warpgroup diverges: some of its threads are elsewhere", line);
	w->meeting.line = line;
	return w;
}
static const char TOGETHER[] = "the others of its warpgroup";

void emulator_named_barrier(int number, int threads, int line)
{
	if (number < 1 || number > 15 || threads % 32 || threads < 32) {
		emulator_fail("no named barrier: 1 to 15, of whole warps", line);
		return;
	}
	begin();
	struct meeting *m = &named[number];
	if (!m->arrived)
		m->threads = threads, m->clock = clock_new();
	if (m->threads != threads)
		emulator_fail("a named barrier of another number of threads", line);
	const int clock = m->clock;
	release(clock, emulator_current);
	meet(m, threads, "a named barrier", line);
	acquire(clock, emulator_current);
}

int emulator_elect(int line)
{
	emulator_warp_barrier(0xffffffffu, line);
	return emulator_lane() == (int)(blockIdx.x + 7) % 32;
}

/* ---- barriers ---- */

static struct mbarrier *barrier_at(uint32_t at, int line, uintptr_t code = 0)
{
	auto found = barriers.find(at);
	if (code && emulator_watch_read && is_shared(at, 8))
		emulator_watch_read(pointer_of(at), 8, emulator_current, code, false);
	if (found != barriers.end())
		return &found->second;
	emulator_fail("this mbarrier has not been initialised", line);
	return nullptr;
}

static void complete(struct mbarrier *b, int line)
{
	if (b->pending)
		return;
	if (b->bytes < 0)
		emulator_fail("more bytes have come to an mbarrier than it expects", line);
	if (b->bytes)
		return;
	b->phase++;
	b->pending = b->arrivals;
	if (emulator_watch_join) {
		emulator_watch_join(b->complete, b->filling, true);
		emulator_watch_join(b->filling, -1, true);
	}
}

void emulator_mbarrier_init(void *barrier, int arrivals, int line)
{
	const uint32_t at = emulator_shared_address(barrier);
	begin();
	if (at % 8 || !is_shared(at, 8) || arrivals < 1)
		emulator_fail("an mbarrier is misaligned, not in shared memory, or of nobody", line);
	if (emulator_watch_write)
		emulator_watch_write(barrier, 8, (uintptr_t)__builtin_return_address(0));
	barriers[at] = { arrivals, arrivals, 0, 0, false, emulator_current, clock_new(), clock_new() };
}

void emulator_mbarrier_fence(void)
{
	for (auto &one : barriers)
		one.second.fenced |= one.second.by == emulator_current;
}

static void arrive(uint32_t at, int bytes, int line, uintptr_t code)
{
	struct mbarrier *b = barrier_at(at, line, code);
	if (!b)
		return;
	if (!b->pending) {
		emulator_fail("one arrival too many at an mbarrier", line);
		return;
	}
	b->bytes += bytes;
	b->pending--;
	release(b->filling, emulator_current);
	complete(b, line);
}
void emulator_mbarrier_arrive(void *barrier, int line) { arrive(emulator_shared_address(barrier), 0, line, (uintptr_t)__builtin_return_address(0)); }
void emulator_mbarrier_expect(void *barrier, int bytes, int line) { arrive(emulator_shared_address(barrier), bytes, line, (uintptr_t)__builtin_return_address(0)); }

struct phase { const struct mbarrier *barrier; unsigned parity; };
static bool has_ended(const void *of) { return (((const struct phase *)of)->barrier->phase & 1) != ((const struct phase *)of)->parity; }

void emulator_mbarrier_wait(void *barrier, int parity, int line)
{
	const struct mbarrier *b = barrier_at(emulator_shared_address(barrier), line, (uintptr_t)__builtin_return_address(0));
	const struct phase until = { b, (unsigned)parity & 1 };
	if (!b)
		return;
	emulator_wait_until(has_ended, &until, "a phase of an mbarrier", line);
	acquire(b->complete, emulator_current);
}

/* ---- boxes ---- */

const char *emulator_map_encode(struct emulator_map *map, const void *base, int element, const int *extent, long long pitch, const int *box, int swizzle)
{
	if ((uintptr_t)base % 16 || pitch % 16 || pitch < (long long)extent[0] * element)
		return "base and pitch are multiples of 16 bytes";
	if (box[0] < 1 || box[1] < 1 || box[0] > 256 || box[1] > 256 || extent[0] < 1 || extent[1] < 1 || box[0] * element % 16)
		return "a box has at most 256 elements each way, and rows of whole 16 bytes";
	if (swizzle && (swizzle != ROW || box[0] * element != ROW))
		return "rows of a swizzled box have 128 bytes here";
	*map = { (char *)const_cast<void *>(base), pitch, element, { extent[0], extent[1] }, { box[0], box[1] }, swizzle };
	return nullptr;
}

static int bytes_of(const struct emulator_map &map) { return map.box[0] * map.box[1] * map.element; }
static uint32_t swizzled(const struct emulator_map &map, uint32_t at) { return map.swizzle ? at ^ (at >> 7 & 7) << 4 : at; }

/* Calls f(address in the tensor, bytes that lie there, and in the box) for each 16 bytes, or less at an edge. */
template <class F> static void each_piece(const struct emulator_map &map, int x, int y, F f)
{
	const int row = map.box[0] * map.element;
	for (int r = 0; r < map.box[1]; r++)
		for (int c = 0; c < row; c += 16) {
			long long first = (long long)x * map.element + c, from = std::max(first, 0ll), to = std::min(first + 16, (long long)map.extent[0] * map.element);
			const bool inside = y + r >= 0 && y + r < map.extent[1] && from < to;
			f(inside ? map.base + (y + r) * map.pitch + from : nullptr, inside ? (int)(to - from) : 0, (uint32_t)(r * row + c), (int)(from - first));
		}
}

static void land(const struct load &l)
{
	struct mbarrier *b = barrier_at(l.barrier, l.line);
	if (!b)
		return;
	if (!b->fenced)
		emulator_fail("TMA does not see this mbarrier: no fence.mbarrier_init behind its initialisation", l.line);
	(void)seen(l.to, bytes_of(l.map), "a box lands on what has been written with no fence.proxy.async behind", l.line);
	each_piece(l.map, l.x, l.y, [&](const char *from, int bytes, uint32_t at, int skip) {
		unsigned char piece[16] = { 0 };
		const uint32_t to = l.to + swizzled(l.map, at);
		if (from)
			memcpy(piece + skip, from, (size_t)bytes);
		memcpy(pointer_of(to), piece, 16);
		memcpy(viewed() + to, piece, 16);
	});
	if (emulator_watch_filled) {
		emulator_watch_filled(pointer_of(l.to), bytes_of(l.map));
		emulator_watch_join(b->filling, l.clock, false);
	}
	b->bytes -= bytes_of(l.map);
	complete(b, l.line);
}

/* Where a box begins. */
static bool is_placed(const struct emulator_map &map, uint32_t at, int line)
{
	const bool right = is_shared(at, bytes_of(map)) && at % (map.swizzle ? ALIGNED_TO : ROW) == 0;
	if (!right)
		emulator_fail("a box is misaligned in shared memory: 1024 bytes, 128 where it is not swizzled", line);
	return right;
}

void emulator_tma_load(void *to, const void *map, void *barrier, int x, int y, int line)
{
	const uintptr_t code = (uintptr_t)__builtin_return_address(0);
	struct load l = { emulator_shared_address(to), emulator_shared_address(barrier), *(const struct emulator_map *)map, x, y, clock_new(), line };
	if (!is_placed(l.map, l.to, line))
		return;
	if (emulator_watch_copy) {
		emulator_watch_copy(to, nullptr, bytes_of(l.map), 0, (void *)code);
		each_piece(l.map, x, y, [&](const char *from, int bytes, uint32_t, int) {
			if (from)
				emulator_watch_read(from, bytes, emulator_current, code, true);
		});
		release(l.clock, emulator_current);
	}
	if (emulator_is_late(false))
		loads.push_back(l);
	else
		land(l);
}

bool emulator_async_land(void)
{
	const bool product = !awaited.empty() && (loads.empty() || emulator_is_late(false));
	if (product) {
		*awaited.front() = true;
		awaited.pop_front();
	} else if (!loads.empty()) {
		const struct load l = loads.front();
		loads.pop_front();
		land(l);
	} else
		return false;
	return true;
}

static void read_store(struct store &s)
{
	if (s.read)
		return;
	s.read = true;
	if (emulator_watch_read)
		emulator_watch_read(pointer_of(s.from), bytes_of(s.map), emulator_current, s.code, true);
	(void)seen(s.from, bytes_of(s.map), "a box is stored of what has been written with no fence.proxy.async behind", s.line);
	s.bytes.resize((size_t)bytes_of(s.map));
	for (uint32_t at = 0; at < s.bytes.size(); at += 16)
		memcpy(&s.bytes[at], viewed() + s.from + swizzled(s.map, at), 16);
}

static void write_store(struct store &s)
{
	read_store(s);
	each_piece(s.map, s.x, s.y, [&](char *to, int bytes, uint32_t at, int skip) {
		if (to)
			memcpy(to, &s.bytes[at + (uint32_t)skip], (size_t)bytes);
	});
}

void emulator_tma_store(const void *map, const void *from, int x, int y, int line)
{
	begin();
	struct stores &mine = stores[(size_t)emulator_current];
	const uintptr_t code = (uintptr_t)__builtin_return_address(0);
	struct store s = { *(const struct emulator_map *)map, emulator_shared_address(from), x, y, mine.groups, line, false, false, {}, code };
	if (!is_placed(s.map, s.from, line))
		return;
	if (emulator_watch_read)
		emulator_watch_read(from, bytes_of(s.map), emulator_current, code, false);
	if (!emulator_is_late(true))
		read_store(s);
	mine.open.push_back(s);
}

void emulator_tma_commit(void)
{
	begin();
	stores[(size_t)emulator_current].groups++;
}

void emulator_tma_wait(int groups, bool read)
{
	begin();
	struct stores &mine = stores[(size_t)emulator_current];
	for (struct store &s : mine.open)
		if (s.group < mine.groups - groups)
			read_store(s), s.awaited = true;
	while (!read && !mine.open.empty() && mine.open.front().group < mine.groups - groups) {
		write_store(mine.open.front());
		mine.open.pop_front();
	}
}

/* ---- products ---- */

/* 16 bytes of a row of an operand, whose rows of 128, 64 or 32 bytes are swizzled, eight of them so many bytes from the next eight (K-major). */
static uint32_t piece_of(uint64_t descriptor, int row, int piece)
{
	const uint32_t width = 256u >> (descriptor >> 62), eight = (uint32_t)(descriptor >> 32 & 0x3fff) << 4;
	const uint32_t at = ((uint32_t)(descriptor & 0x3fff) << 4) + (uint32_t)(row >> 3) * eight + (uint32_t)(row & 7) * width + 16 * (uint32_t)piece;
	return at ^ (at >> 7 & (width / 16 - 1)) << 4;
}

static bool is_matrix(uint64_t descriptor)
{
	const uint32_t width = 256u >> (descriptor >> 62), begin = (uint32_t)(descriptor & 0x3fff) << 4;
	return descriptor >> 62 && !(descriptor >> 49 & 7) && begin / width % 8 == 0;
}

static void dwords_of(uint64_t descriptor, int row, uint32_t *to, int line)
{
	for (int piece = 0; piece < 2; piece++)
		memcpy(to + 4 * piece, seen(piece_of(descriptor, row, piece), 16, "a product reads what has been written with no fence.proxy.async behind", line), 16);
}

/* Behind what is written before; keep: it is a read. */
static void watch_rows(const struct product &p, int thread, bool keep)
{
	for (int row = 0; row < 64 + p.columns && emulator_watch_read; row++)
		for (int piece = 0; piece < 2; piece++) {
			const uint32_t at = row < 64 ? piece_of(p.a, row, piece) : piece_of(p.b, row - 64, piece);
			if (is_shared(at, 16))
				emulator_watch_read(pointer_of(at), 16, thread, p.code, keep);
		}
}

static void multiply(struct warpgroup *w, struct product &p)
{
	static uint32_t a[64][DWORDS], b[MOST_COLUMNS][DWORDS];
	struct sums &sums = w->sums[p.d[0]];
	if (p.done)
		return;
	p.done = true;
	for (int i = 0; i < 64; i++)
		dwords_of(p.a, i, a[i], p.line);
	for (int i = 0; i < p.columns; i++)
		dwords_of(p.b, i, b[i], p.line);
	for (int t = 0; t < GROUP; t++)
		for (int r = 0; r < p.columns / 2; r++) {
			const int row = t / 32 * 16 + t % 32 / 4 + r / 2 % 2 * 8, column = r / 4 * 8 + t % 4 * 2 + r % 2;
			uint32_t *sum = &sums.values[(size_t)(t * p.columns / 2 + r)];
			if (!p.keep)
				*sum = 0;
			for (int k = 0; k < DWORDS; k++)
				*sum = p.add(*sum, a[row][k], b[column][k]);
		}
}

/* What the sums were is kept apart, and nobody knows them till they have been waited for. */
static void hide(struct warpgroup *w, const struct product &p)
{
	struct sums &sums = w->sums[p.d[0]];
	if (sums.open++)
		return;
	if (!w->fenced)
		emulator_fail("no wgmma.fence stands between these registers and the product", p.line);
	sums.values.resize((size_t)(GROUP * p.columns / 2));
	for (int t = 0; t < GROUP; t++)
		for (int r = 0; r < p.columns / 2; r++) {
			sums.values[(size_t)(t * p.columns / 2 + r)] = p.d[(size_t)t][r];
			p.d[(size_t)t][r] = UNKNOWN;
		}
}

static void show(struct warpgroup *w, const struct product &p)
{
	struct sums &sums = w->sums[p.d[0]];
	if (--sums.open)
		return;
	for (int t = 0; t < GROUP; t++)
		for (int r = 0; r < p.columns / 2; r++) {
			if (p.d[(size_t)t][r] != UNKNOWN)
				emulator_fail("sums are touched while a product makes them", p.line);
			p.d[(size_t)t][r] = sums.values[(size_t)(t * p.columns / 2 + r)];
		}
	w->sums.erase(p.d[0]);
	w->fenced = false;
}

void emulator_wgmma(uint32_t *d, int columns, uint64_t a, uint64_t b, int keep, emulator_add add, int line)
{
	struct warpgroup *w = group_at(line);
	const int number = emulator_current / GROUP;
	if (columns % 8 || columns < 8 || columns > MOST_COLUMNS || !is_matrix(a) || !is_matrix(b)) {
		emulator_fail("a product of so many columns, or of a matrix that is not swizzled or does not begin at eight whole rows", line);
		return;
	}
	if (!w->meeting.arrived)
		w->asked = { a, b, columns, keep, w->groups, line, add, false, (uintptr_t)__builtin_return_address(0), std::vector<uint32_t *>(GROUP) };
	else if (w->asked.a != a || w->asked.b != b || w->asked.columns != columns || !w->asked.keep != !keep)
		emulator_fail("threads of a warpgroup ask for products of their own", line);
	w->asked.d[(size_t)emulator_current % GROUP] = d;
	if (meets(&w->meeting, GROUP)) {
		w->products.push_back(w->asked);
		watch_rows(w->asked, emulator_current, false);
		hide(w, w->asked);
		release(w->issued, emulator_current);
		acquire(w->issued, EMULATOR_GROUPS + number);
		if (w->products.size() == 1)
			w->late = emulator_is_late(true);
		if (!w->late)
			multiply(w, w->products.back());
	}
	meet(&w->meeting, GROUP, TOGETHER, line);
}

void emulator_wgmma_fence(int line)
{
	struct warpgroup *w = group_at(line);
	w->fenced |= meets(&w->meeting, GROUP);
	meet(&w->meeting, GROUP, TOGETHER, line);
}

void emulator_wgmma_commit(int line)
{
	struct warpgroup *w = group_at(line);
	w->groups += meets(&w->meeting, GROUP);
	meet(&w->meeting, GROUP, TOGETHER, line);
}

static bool is_now(const void *of) { return *(const bool *)of; }

void emulator_wgmma_wait(int groups, int line)
{
	struct warpgroup *w = group_at(line);
	const int number = emulator_current / GROUP;
	if (meets(&w->meeting, GROUP)) {
		bool now = !w->late || w->products.empty();
		if (!now)
			awaited.push_back(&now);
		emulator_wait_until(is_now, &now, "its product", line);
		while (!w->products.empty() && w->products.front().group < w->groups - groups) {
			struct product p = w->products.front();
			watch_rows(p, EMULATOR_GROUPS + number, true);
			multiply(w, p);
			show(w, p);
			w->products.pop_front();
		}
		release(w->done, EMULATOR_GROUPS + number);
	}
	meet(&w->meeting, GROUP, TOGETHER, line);
	acquire(w->done, emulator_current);
}

/* ---- registers ---- */

static bool are_left(const void *of) { return registers_left >= *(const int *)of; }

void emulator_registers(int count, int line)
{
	struct warpgroup *w = group_at(line);
	const int more = (count - w->registers) * GROUP;
	if (count % 8 || count < 24 || count > MOST_REGISTERS)
		emulator_fail("setmaxnreg takes multiples of 8 from 24 to 248", line);
	if (meets(&w->meeting, GROUP)) {
		emulator_wait_until(are_left, &more, "registers that another warpgroup has", line);
		registers_left -= more;
		w->registers = count;
	}
	meet(&w->meeting, GROUP, TOGETHER, line);
}

/* ---- ends ---- */

void emulator_async_exit(void)
{
	if (!begun)
		return;
	struct stores &mine = stores[(size_t)emulator_current];
	struct warpgroup *w = group_of(emulator_current);
	for (struct store &s : mine.open)
		if (s.awaited)
			write_store(s);
		else
			emulator_fail("no one waited for this stored box, or it has not been committed", s.line);
	mine.open.clear();
	if (!w->products.empty())
		emulator_fail("no one waited for this product", w->products.front().line);
}

void emulator_async_end(void)
{
	if (!begun)
		return;
	if (!loads.empty())
		emulator_fail("a block ends before this box is there", loads.front().line);
	for (const auto &one : barriers)
		if (one.second.bytes)
			emulator_fail("a block ends while an mbarrier expects bytes", 0);
}
