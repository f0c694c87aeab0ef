/* kernels.cpp: a library's .cu text on the emulator, as $STANDIN_KERNELS of driver.c.  TEXT: the .cu; KERNELS: X(symbol) of each.  What was compiled from that
 * text is told by images.c, where it is known. */
#include <tuple>
#include <utility>
#include "hopper.h"
#define __trap() emulator_fail("it traps", __LINE__)
#include TEXT

template <class A> static A argument(void *p)
{
	if constexpr (std::is_class_v<A>)
		return *(A *)p;
	else
		return (A)p;
}
template <class... A, size_t... I> static void call(void (*kernel)(A...), void **p, std::index_sequence<I...>) { kernel(argument<A>(p[I])...); }
template <class... A> static void call_all(void (*kernel)(A...), void **p) { call(kernel, p, std::index_sequence_for<A...>()); }
template <class... A> static constexpr int count_of(void (*)(A...)) { return sizeof...(A); }
template <class... A> static constexpr int maps_of(void (*)(A...)) { return (0 + ... + std::is_class_v<A>); }

extern "C" {
/* Of what is compiled with -fsanitize=alignment: an address that is not a multiple of what is loaded or stored there; its place begins with file and line. */
struct place_of { const char *file; unsigned line, column; };
void __ubsan_handle_type_mismatch_v1(const struct place_of *place, uintptr_t address)
{
	(void)address;
	emulator_fail("a misaligned address", (int)place->line);
}

struct kernel_row { const char *name; void (*thunk)(void **); int parameters, maps; };
extern const struct kernel_row standin_kernels[];
const struct kernel_row standin_kernels[] = {
#define X(symbol) { #symbol, [](void **p) { call_all(symbol, p); }, count_of(symbol), maps_of(symbol) },
	KERNELS
#undef X
	{ nullptr, nullptr, 0, 0 }
};

#ifdef INGOT_GROUPS
const char *standin_map(void *to, void *at, const unsigned long long *extents, unsigned long long pitch, const unsigned *box)
{
	const int extent[] = { (int)extents[0], (int)extents[1] }, size[] = { (int)box[0], (int)box[1] };
	return emulator_map_encode((struct emulator_map *)to, at, 4, extent, (long long)pitch, size, 128);
}
#endif

int standin_launch(const char *name, void (*thunk)(void **), void **pointers, const unsigned *grid, const unsigned *block, size_t shared)
{
	return emulator_launch(name, thunk, pointers, dim3(grid[0], grid[1], grid[2]), dim3(block[0], block[1], block[2]), shared);
}
}
