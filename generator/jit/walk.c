/* walk.c: rows that go down trees -> one call of the menu. */
#include "jit/jit.h"

bool jit_walk(struct blocks *b, struct emit *emit, struct jit_kernel *out)
{
	out->value = walk_values(emit, b->kernel);
	blocks_uses(b, arena_printf(b->arena, "m_%s", walk_word(b->arena, b->kernel->root)), "walk");
	return true;
}
