/* cast.c: a generic kernel -> one call of an entry that ingot itself generated when it was built, for layers of any
 * size (loops/symbols.c): the statements of this kernel with symbols are the very statements of that entry, and the
 * call gives it the symbols' values. */
#include "jit/jit.h"
#include <inttypes.h>
#include <stdlib.h>

const char *jit_cast_name(struct arena *arena, const char *key)
{
	return arena_printf(arena, "m_cast_%016" PRIx64, hash_bytes(key, strlen(key), 0));
}

static int by_name(const void *key, const void *symbol)
{
	return strcmp(key, ((const struct jit_symbol *)symbol)->name);
}

const struct jit_symbol *jit_entry(const char *cpu, const char *name)
{
	size_t count;
	const struct jit_symbol *menu = jit_menu(cpu, &count);
	return menu ? bsearch(name, menu, count, sizeof *menu, by_name) : NULL;
}

/* The key and the name that comes from it lead to one function. */
static bool in_menu(const char *cpu, const char *key, const char *name)
{
	const struct jit_symbol *by_key = jit_entry(cpu, key), *named = jit_entry(cpu, name);
	return by_key && named && named->at == by_key->at;
}

struct reading {
	const struct definition *of;
	bool found;
};
static void see_read(void *user, const struct expr *load)
{
	struct reading *r = user;
	r->found |= load->of == r->of;
}

/* The kernel without the count that ends its blocks, which the entry need not know: it is given so many blocks. */
static const struct kernel *without_count(struct arena *arena, const struct kernel *kernel)
{
	int v = kernel_counted(kernel);
	struct reading r = { v < 0 ? NULL : kernel->members.at[0]->count.of[v], false };
	for (size_t m = 0; r.of && m < kernel->members.count; m++)
		definition_loads(kernel->members.at[m], see_read, &r);
	if (!r.of || r.found)
		return kernel;
	struct kernel *made = arena_new(arena, struct kernel);
	*made = *kernel;
	memset(&made->params, 0, sizeof made->params);
	FOR_ALL (i, kernel->params)
		if (kernel->params.at[i].of != r.of)
			push(arena, &made->params, kernel->params.at[i]);
	return made;
}

bool jit_cast(struct blocks *b, struct emit *emit, struct jit_kernel *out)
{
	struct arena *arena = b->arena;
	const struct kernel *kernel = without_count(arena, b->kernel);
	struct target of_library = *emit->target; /* which the entries are made for */
	of_library.share.work = 0;
	struct loops *loops = loops_symbolic(b->build, arena, &of_library, kernel);
	const char *name = loops ? jit_cast_name(arena, loops->symbols->key) : NULL;
	if (!name || !in_menu(emit->target->name, loops->symbols->key, name))
		return false;
	struct value buffers = value_list(arena), symbols = value_list(arena), numbers = value_list(arena);
	FOR_ALL (i, kernel->params)
		value_list_add(buffers, value_string(kernel->params.at[i].name));
	FOR_ALL (i, loops->symbols->values)
		value_list_add(symbols, value_int(loops->symbols->values.at[i]));
	FOR_ALL (i, loops->symbols->numbers)
		value_list_add(numbers, value_string(number_text(arena, DTYPE_F32, loops->symbols->numbers.at[i], 0)));
	value_set(out->value, "entry", name, "buffers", buffers, "symbols", symbols, "numbers", numbers);
	loops->kernel = b->kernel;
	value_set(out->value, "rounds", loops->blocks, "ends", loops_ends(emit, loops));
	blocks_uses(b, name, "cast");
	return true;
}
