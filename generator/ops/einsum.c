/* einsum.c: Einsum: operands taken pair by pair, from the left.  Each pair is one sum of products over the labels that
 * nobody needs any more, so that contractions find it; a label of one operand alone is summed before. */
#include "ops/words.h"

/* Labels: 52 letters, then the dimensions of an ellipsis, counted from its end. */
enum { LETTERS = 52, LABELS = LETTERS + MAX_RANK };
struct term {
	int rank, label[MAX_RANK];
	struct definition *of;
};
struct einsum {
	struct term *in, out;
	int64_t extents[LABELS];
};

static bool has(const struct term *term, int label)
{
	FOR (d, term->rank)
		if (term->label[d] == label)
			return true;
	return false;
}

static int label_of(char c) { return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? 26 + c - 'a' : -1; }

/* One term up to ',', "->" or the end; returns where it ends.  rank: that it must have, -1: any, with `most` dimensions
 * for its ellipsis. */
static const char *read_term(const struct node *node, const char *at, int rank, int most, struct term *term)
{
	int before[LETTERS], count = 0, dots = -1;
	for (; *at && *at != ',' && *at != '-'; at++) {
		if (*at == ' ')
			continue;
		if (dots < 0 && !strncmp(at, "...", 3)) {
			dots = count;
			at += 2;
			continue;
		}
		INVALID_IF(label_of(*at) < 0, "\"%.20s\" in the equation; letters and one ellipsis are right", at);
		LIMIT_IF(count == MAX_RANK, "a term of more than %d letters", MAX_RANK);
		before[count++] = label_of(*at);
	}
	int free = rank < 0 ? (dots < 0 ? 0 : most) : rank - count;
	INVALID_IF(free < 0 || (dots < 0 && free), "a term of %d letters for %d dimensions", count, rank);
	LIMIT_IF(count + free > MAX_RANK, "a term of %d dimensions", count + free);
	term->rank = count + free;
	for (int d = 0, k = 0; d < term->rank; d++)
		term->label[d] =
		        dots >= 0 && d >= dots && d < dots + free ? LETTERS + dots + free - 1 - d : before[k++];
	return at;
}

static void implied_output(const struct einsum *e, int count, int most, struct term *out)
{
	out->rank = 0;
	for (int k = most - 1; k >= 0; k--)
		out->label[out->rank++] = LETTERS + k;
	FOR (label, LETTERS) {
		int uses = 0;
		FOR (i, count)
			FOR (d, e->in[i].rank)
				uses += e->in[i].label[d] == label;
		if (uses == 1 && out->rank < MAX_RANK)
			out->label[out->rank++] = label;
	}
}

static void merge(const struct node *node, struct einsum *e, int label, int64_t extent)
{
	int64_t *have = &e->extents[label];
	INVALID_IF(*have >= 0 && extent >= 0 && *have != extent && *have != 1 && extent != 1,
	        "one label for %" PRId64 " and for %" PRId64, *have, extent);
	if (*have == 1 || (*have < 0 && extent != 1) || *have == INT64_MIN)
		*have = extent;
}

/* Needs the ranks of all inputs. */
static void einsum_of(const struct node *node, struct einsum *e)
{
	const char *at = node_string(node, "equation", NULL);
	int most = 0;
	INVALID_IF(!at, " lacks the attribute \"equation\"");
	e->in = arena_new_array(node_arena(node), struct term, node->ins + 1);
	FOR (label, LABELS)
		e->extents[label] = INT64_MIN; /* no operand has it */
	FOR (i, node->ins) {
		at = read_term(node, at, node->in[i]->rank, 0, &e->in[i]);
		INVALID_IF((*at == ',') != (i < node->ins - 1), "the equation has %s terms than the %d inputs",
		        *at == ',' ? "more" : "fewer", node->ins);
		at += *at == ',';
		FOR (d, e->in[i].rank) {
			int label = e->in[i].label[d];
			merge(node, e, label, node->in[i]->dims[d].extent);
			most = label >= LETTERS && label - LETTERS + 1 > most ? label - LETTERS + 1 : most;
		}
	}
	if (!*at)
		implied_output(e, node->ins, most, &e->out);
	else {
		INVALID_IF(at[1] != '>', "\"%.20s\" in the equation; \"->\" is right", at);
		at = read_term(node, at + 2, -1, most, &e->out);
		INVALID_IF(*at, "\"%.20s\" behind the output", at);
	}
	FOR (d, e->out.rank) {
		struct term before = e->out;
		before.rank = d;
		INVALID_IF(has(&before, e->out.label[d]) || e->extents[e->out.label[d]] == INT64_MIN,
		        "a label of the output stands there twice or in no input");
	}
}

/* ---- dims that are counted ---- */
int einsum_labels(const struct node *node, int i, int *labels)
{
	struct einsum e;
	einsum_of(node, &e);
	const struct term *term = i < 0 ? &e.out : &e.in[i];
	COPY(labels, term->label, term->rank);
	return term->rank;
}

/* A dim of 1 that is broadcast says nothing. */
static bool counts_of(const struct node *node, int label, struct tensor **count)
{
	struct einsum e;
	bool first = true, agree = true;
	einsum_of(node, &e);
	*count = NULL;
	FOR (i, node->ins)
		FOR (d, e.in[i].rank) {
			const struct dim *dim = &node->in[i]->dims[d];
			if (e.in[i].label[d] != label || (!dim->count && dim->extent == 1))
				continue;
			agree &= first || dim->count == *count;
			*count = first ? dim->count : *count;
			first = false;
		}
	return agree;
}

struct tensor *einsum_count(const struct node *node, int label)
{
	struct tensor *count;
	counts_of(node, label, &count);
	return count;
}

bool einsum_agrees(const struct node *node, int label)
{
	struct tensor *count;
	return counts_of(node, label, &count);
}

bool einsum_keeps(const struct node *node, int label)
{
	struct einsum e;
	einsum_of(node, &e);
	return has(&e.out, label);
}

void infer_einsum(struct node *node)
{
	struct einsum e;
	struct dim dims[MAX_RANK];
	enum dtype type = node->in[0]->type;
	bool known = true;
	FOR (i, node->ins) {
		INVALID_IF(!node->in[i], " lacks input %d", i);
		known &= node->in[i]->rank >= 0;
	}
	if (!known) {
		infer_type(node, 0, type);
		return;
	}
	einsum_of(node, &e);
	FOR (d, e.out.rank)
		dims[d] = e.extents[e.out.label[d]] < 0 ? dim_unknown : dim_of(e.extents[e.out.label[d]]);
	infer_output(node, 0, type, e.out.rank, dims);
}

static expr_ref load_of(struct definer *definer, const struct term *term, const index_ref *var)
{
	index_ref at[MAX_RANK];
	FOR (d, term->rank)
		at[d] = term->of->extents[d] == 1 ? CONSTANT(0) : var[term->label[d]];
	return LOAD(term->of, at);
}

/* out[…] = the sum of a[…] b[…] (NULL: of a alone) over the labels that `out` lacks. */
static void sum_over(struct definer *definer, const struct einsum *e, const char *name, const struct term *a,
        const struct term *b, struct term *out)
{
	const struct term *both[] = { a, b };
	index_ref var[LABELS] = { NULL };
	struct term over = { .rank = 0 };
	int64_t extents[MAX_RANK], reduced[MAX_RANK];
	uint32_t batch = 0;
	FOR (d, out->rank) {
		extents[d] = e->extents[out->label[d]];
		var[out->label[d]] = VAR(d, extents[d]);
		batch |= (uint32_t)has(a, out->label[d]) << d;
	}
	for (int i = 0; i < 2 && both[i]; i++)
		FOR (d, both[i]->rank) {
			int label = both[i]->label[d];
			if (has(out, label) || has(&over, label))
				continue;
			if (over.rank == MAX_RANK)
				node_limit(NODE, "a sum over more than %d labels", MAX_RANK);
			reduced[over.rank] = e->extents[label];
			var[label] = VAR(out->rank + over.rank, reduced[over.rank]);
			over.label[over.rank++] = label;
		}
	expr_ref term = load_of(definer, a, var);
	if (b)
		term = MUL(term, load_of(definer, b, var));
	if (!over.rank) {
		out->of = MAP(name, out->rank, extents, term);
		return;
	}
	out->of = REDUCE(name, out->rank, extents, REDUCE_SUM, over.rank, reduced, NULL, term);
	if (b)
		mark_batch(out->of, batch); /* all but the second's own, as a matrix product's columns */
}

/* Is a label needed beside input i (and all before it, where `before`)? */
static bool needed(const struct definer *definer, const struct einsum *e, int label, int i, bool before)
{
	FOR (k, NODE->ins)
		if ((before ? k > i : k != i) && has(&e->in[k], label))
			return true;
	return has(&e->out, label);
}

/* Input i without labels that stand in it alone, none of them twice. */
static struct term prepared(struct definer *definer, const struct einsum *e, int i)
{
	struct term term = e->in[i], kept = { .rank = 0 };
	term.of = IN(i);
	FOR (d, term.rank)
		if (!has(&kept, term.label[d]) && needed(definer, e, term.label[d], i, false))
			kept.label[kept.rank++] = term.label[d];
	if (kept.rank == term.rank)
		return term;
	sum_over(definer, e, NAMED(FORMAT("of%d", i)), &term, NULL, &kept);
	return kept;
}

void define_einsum(struct definer *definer)
{
	struct einsum e;
	einsum_of(NODE, &e);
	const char *name = NODE->out[0]->name;
	int count = NODE->ins;
	if (count == 1) {
		e.in[0].of = IN(0);
		sum_over(definer, &e, name, &e.in[0], NULL, &e.out);
		GIVE(0, e.out.of);
		return;
	}
	struct term all = prepared(definer, &e, 0);
	FOR_FROM (i, 1, count) {
		struct term next = prepared(definer, &e, i), both = { .rank = 0 };
		const struct term *parts[] = { &all, &next };
		if (i == count - 1)
			both = e.out;
		FOR_WHILE (p, i < count - 1, 2)
			FOR (d, parts[p]->rank) {
				if (has(&both, parts[p]->label[d]) || !needed(definer, &e, parts[p]->label[d], i, true))
					continue;
				if (both.rank == MAX_RANK)
					node_limit(NODE, "a product of more than %d dimensions", MAX_RANK);
				both.label[both.rank++] = parts[p]->label[d];
			}
		sum_over(definer, &e, i == count - 1 ? name : NAMED(FORMAT("upto%d", i)), &all, &next, &both);
		all = both;
	}
	GIVE(0, all.of);
}
