/* cast.c: a generic kernel -> one call of an entry that ingot itself cast when it was built, for layers of any size (loops/symbols.c): the
 * statements of this kernel with symbols are the very statements of that entry, and the call gives it the symbols' values. */
#include "jit/jit.h"
#include <inttypes.h>
#include <stdlib.h>

const char *jit_cast_name(struct arena *arena, const char *key)
{
	return arena_printf(arena, "m_cast_%016" PRIx64, hash_bytes(key, strlen(key), 0));
}

static int by_name(const void *key, const void *symbol) { return strcmp(key, ((const struct jit_symbol *)symbol)->name); }

/* The key and the name that comes from it lead to one function. */
static bool in_menu(const char *cpu, const char *key, const char *name)
{
	size_t count;
	const struct jit_symbol *menu = jit_menu(cpu, &count);
	const struct jit_symbol *by_key = menu ? bsearch(key, menu, count, sizeof *menu, by_name) : NULL;
	const struct jit_symbol *named = by_key ? bsearch(name, menu, count, sizeof *menu, by_name) : NULL;
	return named && named->at == by_key->at;
}

bool jit_cast(struct blocks *b, struct emit *emit, struct jit_kernel *out)
{
	struct arena *arena = b->arena;
	struct loops *loops = loops_symbolic(b->build, arena, emit->target, b->kernel);
	const char *name = loops ? jit_cast_name(arena, loops->symbols->key) : NULL;
	if (!name || !in_menu(emit->target->name, loops->symbols->key, name))
		return false;
	struct value buffers = value_list(arena), symbols = value_list(arena), numbers = value_list(arena);
	for (size_t i = 0; i < b->kernel->params.count; i++)
		value_list_add(buffers, value_string(b->kernel->params.at[i].name));
	for (size_t i = 0; i < loops->symbols->values.count; i++)
		value_list_add(symbols, value_int(loops->symbols->values.at[i]));
	for (size_t i = 0; i < loops->symbols->numbers.count; i++)
		value_list_add(numbers, value_string(number_text(arena, DTYPE_F32, loops->symbols->numbers.at[i], 0)));
	value_dict_set(out->value, "entry", value_string(name));
	value_dict_set(out->value, "buffers", buffers);
	value_dict_set(out->value, "symbols", symbols);
	value_dict_set(out->value, "numbers", numbers);
	value_dict_set(out->value, "rounds", value_int(loops->blocks));
	blocks_uses(b, name, "cast");
	return true;
}
