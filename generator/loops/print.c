/* print.c: statements as text for people (ingot show --stage loops).  Vectors are marked by their lanes: y[i:16]. */
#include "loops/loops.h"
#include <inttypes.h>

struct showing {
	const struct loops *loops;
	struct text *out;
	const char **names;
};

static void show_expr(struct showing *, const struct expr *);

static void show_index(struct showing *s, const struct index *index) { index_print(index, s->names, s->out); }

static void show_expr(struct showing *s, const struct expr *expr)
{
	struct text *out = s->out;
	switch (expr->kind) {
	case EXPR_NUMBER: text_adds(out, number_text(s->loops->arena, expr->type, expr->number, expr->integer)); break;
	case EXPR_LOAD:
		text_adds(out, expr->of->name);
		if (expr->of->rank) {
			text_addc(out, '[');
			show_index(s, expr->at[0]);
			text_addc(out, ']');
		}
		break;
	case EXPR_SCALAR:
	case EXPR_CAST:
		text_adds(out, expr->kind == EXPR_CAST ? dtypes[expr->type].text : scalars[expr->opcode].name);
		text_addc(out, '(');
		for (int i = 0; i < 3 && expr->arg[i]; i++) {
			if (i)
				text_adds(out, ", ");
			show_expr(s, expr->arg[i]);
		}
		text_addc(out, ')');
		break;
	case EXPR_SELECT:
		text_adds(out, "select(");
		FOR (i, expr->range_count) {
			text_printf(out, "%" PRId64 " <= ", expr->ranges[i].from);
			show_index(s, expr->ranges[i].at);
			text_printf(out, " < %" PRId64 ", ", expr->ranges[i].to);
		}
		show_expr(s, expr->arg[0]);
		text_adds(out, ", ");
		show_expr(s, expr->arg[1]);
		text_addc(out, ')');
		break;
	case EXPR_INDEX:
		text_adds(out, "index(");
		show_index(s, expr->index);
		text_addc(out, ')');
		break;
	}
}

static void show_block(struct showing *s, const struct block *block, int depth);

static void show_lanes(struct showing *s, const struct stmt *stmt)
{
	if (stmt->lane < 0)
		return;
	text_printf(s->out, "    along %s, ", s->names[stmt->lane]);
	if (stmt->some)
		show_index(s, stmt->some);
	else
		text_printf(s->out, "%d", stmt->left ? stmt->left : loops_width(s->loops, stmt));
	text_adds(s->out, stmt->keep ? ", others kept" : "");
}

static void show(struct showing *s, const struct stmt *stmt, int depth)
{
	static const char *const roles[] = {
		[ROLE_BLOCKS] = "blocks", [ROLE_MAP] = "map", [ROLE_SERIAL] = "serial", [ROLE_LANES] = "64 lanes"
	};
	struct text *out = s->out;
	text_printf(out, "%*s", depth * 2, "");
	switch (stmt->kind) {
	case STMT_FOR:
		text_adds(out, "for ");
		if (stmt->first) {
			show_index(s, stmt->first);
			text_adds(out, " <= ");
		}
		text_printf(out, "%s < ", s->names[stmt->var]);
		if (stmt->count)
			show_index(s, stmt->count);
		else
			text_printf(out, "%" PRId64, stmt->extent);
		if (stmt->step != 1)
			text_printf(out, " by %" PRId64, stmt->step);
		text_printf(out, "    %s", roles[stmt->role]);
		FOR (i, stmt->sum_count)
			text_printf(out, " %s", stmt->sums[i]->of.name);
		break;
	case STMT_IF:
		text_adds(out, "if");
		FOR (i, stmt->range_count) {
			text_printf(out, " %" PRId64 " <= ", stmt->ranges[i].from);
			show_index(s, stmt->ranges[i].at);
			text_printf(out, " < %" PRId64, stmt->ranges[i].to);
		}
		break;
	case STMT_SCOPE: text_adds(out, "scope"); break;
	case STMT_INDEX:
		text_printf(out, "%s is ", s->names[stmt->var]);
		show_index(s, stmt->at);
		break;
	case STMT_ARRAY:
		text_printf(out, "array %s[%" PRId64 "]%s", stmt->cell->of.name, stmt->cell->size,
		        stmt->cell->vector ? " of vectors" : "");
		break;
	case STMT_SET:
		text_printf(out, "%s%s = ", stmt->declare ? "let " : "", stmt->cell->of.name);
		show_expr(s, stmt->value);
		show_lanes(s, stmt);
		break;
	case STMT_STORE:
		text_printf(out, "%s[", stmt->cell->of.name);
		show_index(s, stmt->at);
		text_adds(out, "] = ");
		show_expr(s, stmt->value);
		show_lanes(s, stmt);
		if (stmt->square) {
			text_adds(out, ", a square: rows ");
			show_index(s, stmt->square);
			text_adds(out, " apart");
		}
		break;
	case STMT_JOIN: text_printf(out, "let %s = join %s", stmt->cell->of.name, stmt->from->of.name); break;
	}
	text_addc(out, '\n');
	show_block(s, &stmt->body, depth + 1);
	if (stmt->other.count) {
		text_printf(out, "%*selse\n", depth * 2, "");
		show_block(s, &stmt->other, depth + 1);
	}
}

static void show_block(struct showing *s, const struct block *block, int depth)
{
	FOR (i, block->count)
		show(s, block->at[i], depth);
}

void loops_print(struct loops *loops, struct text *out)
{
	loops_name(loops);
	struct showing s = { loops, out, arena_new_array(loops->arena, const char *, loops->vars.count + 1) };
	FOR_ALL (i, loops->vars)
		s.names[i] = loops->vars.at[i].name;
	show_block(&s, &loops->body, 0);
}
