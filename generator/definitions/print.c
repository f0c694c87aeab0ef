/* print.c: a program as text, one line a definition, and one below it for each long part that it would repeat:
 *
 *     y float[1,16,32,32] = sum(k0 < 3, k1 < 3, k2 < 16 from b[i1]) x[i0, k2, i2 + k0, i3 + k1] * w[i1, k2, k0, k1]
 *
 * Output variables are named i0, i1 … and reduced ones k0, k1 …: a definition does not remember names. */
#include "definitions/definitions.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const output_variables[MAX_RANK] = {
	"i0",
	"i1",
	"i2",
	"i3",
	"i4",
	"i5",
	"i6",
	"i7",
	"i8",
	"i9",
	"i10",
	"i11",
	"i12",
	"i13",
	"i14",
	"i15",
};
static const char *const reduced_variables[MAX_RANK] = {
	"k0",
	"k1",
	"k2",
	"k3",
	"k4",
	"k5",
	"k6",
	"k7",
	"k8",
	"k9",
	"k10",
	"k11",
	"k12",
	"k13",
	"k14",
	"k15",
};

/* What stands more than once is named where it is longer. */
enum { LONG_PART = 24 };
struct printing {
	struct text *out;
	const char *names[MAX_VARS];
	struct numbering parts; /* of the definition */
	int *names_of_parts;    /* by number: v0 is 1 …; 0: it has no name */
};

/* How tightly text binds: a sum inside a product needs parentheses. */
enum { BIND_SUM = 1, BIND_PRODUCT, BIND_ATOM };

static void print_expr(const struct printing *, const struct expr *, int bind);

static void print_index(const struct printing *p, const struct index *index, int bind)
{
	struct text *out = p->out;
	int parts = index->count + (index->constant != 0);
	if (parts > 1 && bind > BIND_SUM)
		text_addc(out, '(');
	FOR (i, index->count) {
		const struct atom *atom = index->terms[i].atom;
		int64_t factor = index->terms[i].factor;
		text_adds(out, factor < 0 ? i ? " - " : "-" : i ? " + " : "");
		if (factor != 1 && factor != -1)
			text_printf(out, "%" PRIu64 "*", factor < 0 ? -(uint64_t)factor : (uint64_t)factor);
		if (atom->kind == ATOM_VAR) {
			text_adds(out, p->names[atom->var]);
		} else if (atom->kind == ATOM_VALUE) {
			text_adds(out, "at(");
			print_expr(p, atom->value, 0);
			text_addc(out, ')');
		} else {
			bool wrap = factor != 1;
			text_adds(out, wrap ? "(" : "");
			print_index(p, atom->of, BIND_PRODUCT);
			text_printf(out, "%c%" PRId64, atom->kind == ATOM_DIV ? '/' : '%', atom->by);
			text_adds(out, wrap ? ")" : "");
		}
	}
	if (!index->count)
		text_printf(out, "%" PRId64, index->constant);
	else if (index->constant)
		text_printf(out, " %c %" PRIu64, index->constant < 0 ? '-' : '+',
		        index->constant < 0 ? -(uint64_t)index->constant : (uint64_t)index->constant);
	if (parts > 1 && bind > BIND_SUM)
		text_addc(out, ')');
}

static void print_number(const struct printing *p, const struct expr *expr)
{
	if (dtypes[expr->type].class != CLASS_FLOAT)
		text_printf(p->out, "%" PRId64, expr->integer);
	else
		text_printf(p->out, "%.9g", expr->number);
}

static void print_scalar(const struct printing *p, const struct expr *expr, int bind)
{
	static const struct {
		const char *text;
		int bind;
	} infix[SCALAR_COUNT] = {
		[SCALAR_add] = { " + ", BIND_SUM },
		[SCALAR_sub] = { " - ", BIND_SUM },
		[SCALAR_mul] = { " * ", BIND_PRODUCT },
		[SCALAR_div] = { " / ", BIND_PRODUCT },
	};
	int own = infix[expr->opcode].bind;
	if (!own) {
		text_printf(p->out, "%s(", scalars[expr->opcode].name);
		FOR (i, scalars[expr->opcode].arity) {
			text_adds(p->out, i ? ", " : "");
			print_expr(p, expr->arg[i], 0);
		}
		text_addc(p->out, ')');
		return;
	}
	text_adds(p->out, own < bind ? "(" : "");
	print_expr(p, expr->arg[0], own);
	text_adds(p->out, infix[expr->opcode].text);
	print_expr(p, expr->arg[1], own + 1);
	text_adds(p->out, own < bind ? ")" : "");
}

static void print_part(const struct printing *p, const struct expr *expr, int bind)
{
	switch (expr->kind) {
	case EXPR_NUMBER: print_number(p, expr); break;
	case EXPR_LOAD:
		text_adds(p->out, expr->of->name);
		text_addc(p->out, '[');
		FOR (d, expr->of->rank) {
			text_adds(p->out, d ? ", " : "");
			print_index(p, expr->at[d], 0);
		}
		text_addc(p->out, ']');
		break;
	case EXPR_SCALAR: print_scalar(p, expr, bind); break;
	case EXPR_SELECT:
		text_adds(p->out, "select(");
		FOR (i, expr->range_count) {
			text_printf(p->out, "%s%" PRId64 " <= ", i ? " and " : "", expr->ranges[i].from);
			print_index(p, expr->ranges[i].at, BIND_SUM);
			text_printf(p->out, " < %" PRId64, expr->ranges[i].to);
		}
		text_adds(p->out, ", ");
		print_expr(p, expr->arg[0], 0);
		text_adds(p->out, ", ");
		print_expr(p, expr->arg[1], 0);
		text_addc(p->out, ')');
		break;
	case EXPR_INDEX:
		text_adds(p->out, "index(");
		print_index(p, expr->index, 0);
		text_addc(p->out, ')');
		break;
	case EXPR_CAST:
		text_printf(p->out, "%s%s(",
		        expr->cast & CAST_BITS           ? "bits_as_"
		                : expr->cast & CAST_UP   ? "up_to_"
		                : expr->cast & CAST_DOWN ? "down_to_"
		                                         : "",
		        dtypes[expr->type].text);
		print_expr(p, expr->arg[0], 0);
		text_adds(p->out, expr->cast & CAST_SATURATES ? ", saturates)" : ")");
		break;
	}
}

static void print_expr(const struct printing *p, const struct expr *expr, int bind)
{
	int number = number_find(&p->parts, expr);
	if (number >= 0 && p->names_of_parts[number])
		text_printf(p->out, "v%d", p->names_of_parts[number] - 1);
	else
		print_part(p, expr, bind);
}

static void begin(struct printing *p, const struct program *program, const struct definition *definition)
{
	const struct expr *const roots[] = { definition->start, definition->body, definition->row, definition->lies,
		definition->choice[CHOICE_THERE], definition->choice[CHOICE_BARS], definition->choice[CHOICE_MOST] };
	p->parts.arena = program->arena;
	FOR (v, definition->rank)
		p->names[v] = output_variables[v];
	FOR (v, definition->reduced + definition_chooses(definition))
		p->names[definition->rank + v] = reduced_variables[v];
	FOR (i, COUNT(roots))
		if (roots[i])
			number_expr(&p->parts, roots[i]);
	p->names_of_parts = arena_new_array(program->arena, int, p->parts.all.count + 1);
}

/* Parts that stand more than once, each after those that it is made of. */
static void name_parts(struct printing *p, struct text *lines)
{
	struct text *out = p->out, text;
	int names = 0;
	text_init(&text, out->build);
	p->out = &text;
	FOR_ALL (i, p->parts.all) {
		const struct numbered *part = &p->parts.all.at[i];
		text.count = 0;
		if (part->uses > 1)
			print_part(p, part->expr, 0);
		if (text.count <= LONG_PART)
			continue;
		text_printf(lines, "\n    v%d = ", names);
		text_add(lines, text.at, text.count);
		p->names_of_parts[i] = ++names;
	}
	text_release(&text);
	p->out = out;
}

static void print_type(const struct definition *definition, struct text *out)
{
	text_printf(out, "%s %s[", definition->name, dtypes[definition->type].text);
	FOR (d, definition->rank)
		text_printf(out, "%s%" PRId64, d ? "," : "", definition->extents[d]);
	text_addc(out, ']');
}

static void print_scatter(const struct printing *p, const struct definition *definition)
{
	text_adds(p->out, " to [");
	FOR (v, definition->rank) {
		text_adds(p->out, v ? ", " : "");
		if (definition->place[v] && definition->place[v]->kind == EXPR_INDEX)
			print_index(p, definition->place[v]->index, 0);
		else if (definition->place[v])
			print_expr(p, definition->place[v], 0);
		else
			text_adds(p->out, p->names[v]);
	}
	text_addc(p->out, ']');
}

static void print_computed(const struct program *program, const struct definition *definition, struct text *out)
{
	static const char *const words[] = { "", "sum", "max", "min", "product", "last", "order up",
		"order down", [REDUCE_WALK] = "walk" },
	                         *const choices[CHOICES] = { " where ", " unless one taken as k1 has ", " up to " };
	struct printing p = { .out = out };
	struct text lines;
	text_init(&lines, out->build);
	begin(&p, program, definition);
	name_parts(&p, &lines);
	text_adds(out, " = ");
	if (definition->reduce) {
		text_printf(out, "%s%s(", definition->running ? "running " : "", words[definition->reduce]);
		FOR (d, definition->reduced)
			text_printf(out, "%sk%d < %" PRId64, d ? ", " : "", d, definition->reduced_extents[d]);
		if (definition->order == ORDER_LANES)
			text_adds(out, " by 64");
		if (definition_scatters(definition))
			print_scatter(&p, definition);
		if (definition->start) {
			text_adds(out, " from ");
			print_expr(&p, definition->start, 0);
		}
		text_adds(out, definition->in_place ? " in place) " : ") ");
	}
	print_expr(&p, definition->body, 0);
	FOR (i, CHOICES)
		if (definition->choice[i]) {
			text_adds(out, choices[i]);
			print_expr(&p, definition->choice[i], 0);
		}
	if (definition->trees.walk)
		text_printf(out, " down %s from %s to %" PRId64 " leaves", definition->trees.nodes->of->name,
		        definition->trees.roots->of->name, definition->trees.walk->leaves);
	if (definition->lies) {
		text_adds(out, " in rows of ");
		print_expr(&p, definition->row, 0);
		text_adds(out, " at ");
		print_expr(&p, definition->lies, 0);
	}
	if (lines.count)
		text_add(out, lines.at, lines.count);
	text_release(&lines);
	if (definition->literal)
		text_printf(out, "\n    in floats: %s", definition->literal);
}

/* Its body stands below the result that reads the operands. */
static void print_repeat(const struct definition *definition, struct text *out)
{
	static const char *const words[] = { "", " carried", " sliced" };
	const struct repeat *repeat = definition->loop.repeat;
	struct printing p = { .out = out };
	if (definition_repeats(definition) != definition) {
		text_printf(out, " = %s of %s", repeat->body->output_names.at[definition->loop.part],
		        definition_repeats(definition)->name);
		return;
	}
	text_printf(out, " = %s of repeat(%" PRId64 " rounds", repeat->body->output_names.at[definition->loop.part],
	        repeat->rounds);
	if (repeat->going >= 0)
		text_printf(out, " while %s", repeat->body->inputs.at[repeat->going]->name);
	FOR (i, definition->loop.operands) {
		text_printf(out, ", %s", repeat->body->inputs.at[i]->name);
		text_printf(out, "%s%s = ", words[repeat->in[i].moves], repeat->in[i].back ? " back" : "");
		print_expr(&p, definition->loop.operand[i], 0);
	}
	text_adds(out, "), where\n");
	program_print(repeat->body, out);
	text_adds(out, "end of the body");
}

void program_print(const struct program *program, struct text *out)
{
	text_printf(out, "program %s\n", program->name);
	FOR_EACH (const struct definition *definition, program->all) {
		print_type(definition, out);
		if (definition->source == SOURCE_INPUT)
			text_adds(out, "    input");
		else if (definition->source == SOURCE_CONSTANT)
			text_adds(out, "    constant");
		else if (definition->reduce == REDUCE_REPEAT)
			print_repeat(definition, out);
		else
			print_computed(program, definition, out);
		text_addc(out, '\n');
	}
	FOR_ALL (i, program->outputs)
		text_printf(out, "output %s = %s\n", program->output_names.at[i], program->outputs.at[i]->name);
	FOR_ALL (i, program->checks)
		text_printf(out, "check %s: %s\n", program->checks.at[i]->name, program->checks.at[i]->check->text);
}

/* ---- for C ---- */
const char *number_text(struct arena *arena, enum dtype type, double number, int64_t integer)
{
	const char *end = type == DTYPE_F64 ? "" : "f";
	char digits[32];
	if (dtypes[type].class != CLASS_FLOAT) {
		if (type == DTYPE_I64 || type == DTYPE_U64)
			return type == DTYPE_U64       ? arena_printf(arena, "%" PRIu64 "ull", (uint64_t)integer)
			        : integer == INT64_MIN ? "(-9223372036854775807ll - 1)"
			                               : arena_printf(arena, "%" PRId64 "ll", integer);
		return arena_printf(arena, type == DTYPE_U32 ? "%" PRId64 "u" : "%" PRId64, integer);
	}
	if (type != DTYPE_F64)
		number = (float)number;
	if (isnan(number))
		return type == DTYPE_F64 ? "(0. / 0.)" : "(0.f / 0.f)";
	if (isinf(number)) /* no header is needed for these */
		return arena_printf(arena, "(%s1.%s / 0.%s)", number < 0 ? "-" : "", end, end);
	/* 9 digits say any float, 17 any double; C++ before C++17 has no hexadecimal floats. */
	snprintf(digits, sizeof digits, "%.5g", number);
	if (strtod(digits, NULL) != number || strchr(digits, 'e'))
		snprintf(digits, sizeof digits, "%.*g", type == DTYPE_F64 ? 17 : 9, number);
	return arena_printf(arena, "%s%s%s", digits, strpbrk(digits, ".e") ? "" : *end ? "." : ".0", end);
}
