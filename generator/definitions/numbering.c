/* numbering.c: the expressions of some roots as a list, each once, what it is made of before it. */
#include "definitions/definitions.h"

static size_t slot_of(const struct numbering *n, const struct expr *expr)
{
	size_t i = expr->hash & (n->room - 1);
	while (n->slots[i] && n->all.at[n->slots[i] - 1].expr != expr)
		i = (i + 1) & (n->room - 1);
	return i;
}

int number_find(const struct numbering *n, const struct expr *expr)
{
	return n->room ? n->slots[slot_of(n, expr)] - 1 : -1;
}

static void make_room(struct numbering *n)
{
	if (n->all.count * 2 < n->room)
		return;
	n->room = n->room ? n->room * 2 : 16;
	n->slots = arena_new_array(n->arena, int, n->room);
	FOR_ALL (i, n->all)
		n->slots[slot_of(n, n->all.at[i].expr)] = (int)i + 1;
}

int number_expr(struct numbering *n, const struct expr *expr)
{
	int number = number_find(n, expr);
	if (number < 0) {
		struct numbered it = { .expr = expr, .arg = { -1, -1, -1 } };
		FOR (i, 3)
			if (expr->arg[i])
				it.arg[i] = number_expr(n, expr->arg[i]);
		make_room(n);
		number = (int)n->all.count;
		push(n->arena, &n->all, it);
		n->slots[slot_of(n, expr)] = number + 1;
	}
	n->all.at[number].uses++;
	return number;
}
