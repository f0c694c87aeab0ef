/* bytes.c: what bytes have rows for -> calls over bytes as they lie; words of 16 bits, and of 8, moved. */
#include "jit/jit.h"
#include <inttypes.h>

enum { BYTES_MOST = 8 }; /* parts of such an expression */
static bool has_bytes(struct blocks *b, const struct expr *e, const struct dims *d, int *parts)
{
	struct operand o;
	int bits = dtypes[e->type].bits;
	const struct expr *byte = expr_looked_up(e, d->lane);
	if (++*parts > BYTES_MOST)
		return false;
	if (byte)
		return has_bytes(b, byte, d, parts);
	if (e->kind == EXPR_LOAD && (bits == 8 || bits == 16))
		return !blocks_in_scratch(b, e, d, &o) && !blocks_bends(schedule_address(b->arena, e->of, e->at), d);
	if (bits != 8 || dtypes[e->type].class == CLASS_FLOAT)
		return false;
	if (e->kind == EXPR_NUMBER)
		return true;
	if (e->kind != EXPR_SCALAR || !jit_bytes_row(e->type, e->opcode))
		return false;
	FOR (i, scalars[e->opcode].arity)
		if (!has_bytes(b, e->arg[i], d, parts))
			return false;
	return true;
}

static struct operand bytes_scratch(struct blocks *b, enum dtype type, const struct dims *d)
{
	return (struct operand){ blocks_scratch(b, (d->rows_most * d->n_most * dtypes[type].bits + 31) / 32, NULL),
		d->row >= 0 ? d->n_most : 0, 1, true, false };
}

/* Lanes side by side: where they lie, or in scratch, or `to`. */
static struct operand bytes_value(
        struct blocks *b, const struct expr *e, const struct dims *d, const struct operand *to)
{
	struct operand from, made;
	const struct expr *byte = expr_looked_up(e, d->lane);
	if (byte) {
		from = bytes_value(b, byte, d, NULL);
		made = to && to->lane == 1 ? *to : bytes_scratch(b, e->type, d);
		blocks_call(b, "m_lookup", "map2",
		        arena_printf(b->arena, "%s, %s, %s, %d, %s, %s", blocks_pointer(b, made),
		                blocks_pointer(b, from), b->printer.buffer(b->printer.user, e->of),
		                byte->type == DTYPE_I8 ? -INT8_MIN : 0, d->rows, d->n));
		return made;
	}
	if (e->kind == EXPR_SCALAR) {
		int arity = scalars[e->opcode].arity;
		const char *arguments = "";
		FOR (i, arity)
			arguments = arena_printf(
			        b->arena, "%s, %s", arguments, blocks_pointer(b, bytes_value(b, e->arg[i], d, NULL)));
		made = to && to->lane == 1 ? *to : bytes_scratch(b, e->type, d);
		blocks_call(b,
		        arena_printf(b->arena, "m_%s_%s_%s", jit_bytes_row(e->type, e->opcode), scalars[e->opcode].name,
		                arity == 1 ? "v" : "vv"),
		        arity == 1 ? "map1" : "map2",
		        arena_printf(b->arena, "%s%s, %s, %s", blocks_pointer(b, made), arguments, d->rows, d->n));
		return made;
	}
	if (e->kind == EXPR_NUMBER)
		from = (struct operand){ .at = arena_printf(
			                         b->arena, "(const unsigned char *)%s", blocks_constant(b, e)) };
	else
		from = blocks_buffer(b, e, d);
	if (from.lane == 1 || (to && from.lane == 0 && to->lane == 1))
		return from;
	made = bytes_scratch(b, e->type, d);
	blocks_move(b, dtypes[e->type].bits / 8, made, from, d);
	return made;
}

bool blocks_looked_up(struct blocks *b, const struct expr *e, const struct dims *d, struct operand *out)
{
	int parts = 0;
	if (!expr_looked_up(e, d->lane) || !has_bytes(b, e, d, &parts))
		return false;
	*out = bytes_value(b, e, d, NULL);
	return true;
}

bool blocks_store_bytes(struct blocks *b, const struct expr *e, const struct dims *d, struct operand to)
{
	struct operand from;
	int parts = 0;
	if (to.bends || !has_bytes(b, e, d, &parts))
		return false;
	if (e->kind == EXPR_LOAD && to.lane == 1 && !expr_looked_up(e, d->lane))
		from = blocks_buffer(b, e, d);
	else
		from = bytes_value(b, e, d, &to);
	if (strcmp(from.at, to.at) || from.row != to.row)
		blocks_move(b, dtypes[e->type].bits / 8, to, from, d);
	return true;
}

bool blocks_words(
        struct blocks *b, const struct expr *e, const struct dims *d, const struct operand *to, struct operand *out)
{
	struct four_bytes bytes;
	struct operand from;
	int64_t turned = 0;
	if (e->kind == EXPR_SCALAR && e->opcode == SCALAR_xor && e->arg[1]->kind == EXPR_NUMBER) {
		turned = e->arg[1]->integer;
		e = e->arg[0];
	}
	if (d->lane < 0 || !printer_bytes(&b->printer, e, &bytes) || blocks_bends(bytes.at, d)
	        || !index_factor(bytes.at, d->lane) || blocks_in_scratch(b, bytes.load, d, &from))
		return false;
	from = (struct operand){ .row = d->row >= 0 ? index_factor(bytes.at, d->row) : 0,
		.lane = index_factor(bytes.at, d->lane) };
	if (bytes.beside && from.row % BYTES == 0 && from.lane % BYTES == 0) /* words as they lie */
		return false;
	blocks_no_cells(b, bytes.at, d);
	from.at = printer_address(&b->printer, bytes.load->of, bytes.at);
	blocks_lets(b);
	*out = to ? *to : blocks_temporary(b, DTYPE_I32, d);
	const char *arguments = arena_printf(b->arena, "%s, %s, %" PRId64 ", %" PRId64, blocks_pointer(b, *out),
	        blocks_pointer(b, from), from.lane, turned);
	for (int i = 1; i < BYTES; i++)
		arguments = arena_printf(b->arena, "%s, %" PRId64, arguments, bytes.byte[i]);
	blocks_call(b, "m_words", "words", arena_printf(b->arena, "%s, %s, %s", arguments, d->rows, d->n));
	return true;
}
