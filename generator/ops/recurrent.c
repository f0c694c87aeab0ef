/* recurrent.c: LSTM, GRU and RNN over a sequence of constant length, unrolled, or the steps behind the first as a loop.
 * For each direction: the input's part of the gates for all steps as one contraction; for each step the hidden part, a
 * sum that goes on where the input's ended, then the maps: cell and hidden. */
#include "ops/words.h"
#include <strings.h>

enum { STEPS_TOGETHER = 64, UNROLLED_EACH = 4 }; /* so many steps count as a node of a loop */
enum { GATE_INPUT, GATE_OUTPUT, GATE_FORGET, GATE_CELL, GATES };
enum { GRU_UPDATE, GRU_RESET, GRU_HIDDEN, GRU_GATES };

/* What the three differ in: gates, activations of a direction, inputs and outputs. */
struct recurrence {
	int gates, activations;
	const char *usual[3];
};
static const struct recurrence of_lstm = { GATES, 3, { "Sigmoid", "Tanh", "Tanh" } },
                               of_gru = { GRU_GATES, 2, { "Sigmoid", "Tanh" } }, of_rnn = { 1, 1, { "Tanh" } };

/* ---- activations by name ---- */
struct activation {
	int kind;
	double alpha, beta;
};
enum {
	ACT_RELU,
	ACT_TANH,
	ACT_SIGMOID,
	ACT_AFFINE,
	ACT_LEAKY_RELU,
	ACT_THRESHOLDED_RELU,
	ACT_SCALED_TANH,
	ACT_HARD_SIGMOID,
	ACT_ELU,
	ACT_SOFTSIGN,
	ACT_SOFTPLUS
};
static const struct {
	const char *name;
	bool has_alpha, has_beta;
	double alpha, beta;
} activations[] = {
	[ACT_RELU] = { "Relu", 0, 0, 0, 0 },
	[ACT_TANH] = { "Tanh", 0, 0, 0, 0 },
	[ACT_SIGMOID] = { "Sigmoid", 0, 0, 0, 0 },
	[ACT_AFFINE] = { "Affine", 1, 1, 1, 0 },
	[ACT_LEAKY_RELU] = { "LeakyRelu", 1, 0, 0.01f, 0 },
	[ACT_THRESHOLDED_RELU] = { "ThresholdedRelu", 1, 0, 1, 0 },
	[ACT_SCALED_TANH] = { "ScaledTanh", 1, 1, 1, 1 },
	[ACT_HARD_SIGMOID] = { "HardSigmoid", 1, 1, 0.2f, 0.5f },
	[ACT_ELU] = { "Elu", 1, 0, 1, 0 },
	[ACT_SOFTSIGN] = { "Softsign", 0, 0, 0, 0 },
	[ACT_SOFTPLUS] = { "Softplus", 0, 0, 0, 0 },
};

static expr_ref if_less(struct definer *definer, expr_ref a, double b, expr_ref yes, expr_ref no)
{
	return WHERE(LESS(a, LIKE(a, b)), yes, no);
}

static expr_ref activate(struct definer *definer, const struct activation *activation, expr_ref x)
{
	expr_ref alpha = LIKE(x, activation->alpha), beta = LIKE(x, activation->beta);
	expr_ref zero = LIKE(x, 0), one = LIKE(x, 1);
	switch (activation->kind) {
	case ACT_RELU: return expr1(definer, SCALAR_relu, x);
	case ACT_TANH: return expr1(definer, SCALAR_tanh, x);
	case ACT_SIGMOID: return expr1(definer, SCALAR_sigmoid, x);
	case ACT_AFFINE: return FMA(alpha, x, beta);
	case ACT_LEAKY_RELU: return if_less(definer, x, 0, MUL(alpha, x), x);
	case ACT_THRESHOLDED_RELU: return if_less(definer, x, activation->alpha, zero, x);
	case ACT_SCALED_TANH: return MUL(alpha, expr1(definer, SCALAR_tanh, MUL(beta, x)));
	case ACT_HARD_SIGMOID: return MAX(zero, MIN(one, FMA(alpha, x, beta)));
	case ACT_ELU: return if_less(definer, x, 0, MUL(alpha, SUB(expr1(definer, SCALAR_exp, x), one)), x);
	case ACT_SOFTSIGN: return DIV(x, ADD(one, ABS(x)));
	default: { /* softplus: max(x, 0) + log(1 + e^-|x|), which cannot overflow */
		expr_ref small = expr1(definer, SCALAR_exp_below, expr1(definer, SCALAR_neg, ABS(x)));
		return ADD(expr1(definer, SCALAR_relu, x), expr1(definer, SCALAR_log, ADD(one, small)));
	}
	}
}

/* ---- attributes ---- */
struct lstm {
	const struct recurrence *kind;
	int directions;
	bool reverse[2];
	struct activation f[2], g[2], h[2];
	bool batch_first, coupled, late_reset; /* coupled: LSTM's input_forget; late: GRU's linear_before_reset */
	double clip;                           /* 0: none */
	int64_t hidden;
};

static void activations_of(const struct node *node, struct lstm *lstm)
{
	int each = lstm->kind->activations;
	const char *const *usual = lstm->kind->usual;
	const struct attribute *names = node_attribute(node, "activations");
	const struct attribute *alphas = node_attribute(node, "activation_alpha"),
	                       *betas = node_attribute(node, "activation_beta");
	size_t alpha = 0, beta = 0, want = (size_t)(lstm->directions * each);
	INVALID_IF(names && (names->kind != ATTRIBUTE_STRINGS || names->count != want),
	        "activations are not %zu strings", want);
	INVALID_IF((alphas && alphas->kind != ATTRIBUTE_FLOATS) || (betas && betas->kind != ATTRIBUTE_FLOATS),
	        "activation_alpha and activation_beta are lists of floats");
	FOR (i, want) {
		struct bytes name = names ? names->strings[i]
		                          : (struct bytes){ usual[(int)i % each], strlen(usual[(int)i % each]) };
		size_t kind = 0;
		while (kind < COUNT(activations)
		        && (strlen(activations[kind].name) != name.count
		                || strncasecmp(activations[kind].name, name.at, name.count)))
			kind++;
		INVALID_IF(kind == COUNT(activations), "no activation is called \"%.*s\"",
		        (int)(name.count < 40 ? name.count : 40), name.at);
		int direction = (int)i / each, which = (int)i % each;
		struct activation *activation = which == 0 ? &lstm->f[direction]
		        : which == 1                       ? &lstm->g[direction]
		                                           : &lstm->h[direction];
		*activation = (struct activation){ (int)kind, activations[kind].alpha, activations[kind].beta };
		if (activations[kind].has_alpha && alphas && alpha < alphas->count)
			activation->alpha = alphas->floats[alpha++];
		if (activations[kind].has_beta && betas && beta < betas->count)
			activation->beta = betas->floats[beta++];
	}
}

static void lstm_of(const struct node *node, const struct recurrence *kind, struct lstm *lstm)
{
	int direction = attribute_word(node, "direction", "forward reverse bidirectional");
	memset(lstm, 0, sizeof *lstm);
	lstm->kind = kind;
	lstm->directions = direction == 2 ? 2 : 1;
	lstm->reverse[0] = direction == 1;
	lstm->reverse[1] = true;
	activations_of(node, lstm);
	lstm->batch_first = attribute_int(node, "layout") != 0;
	lstm->coupled = kind == &of_lstm && attribute_int(node, "input_forget") != 0;
	lstm->late_reset = kind == &of_gru && node_int(node, "linear_before_reset", 0) != 0;
	lstm->clip = node_float(node, "clip", 0);
	lstm->hidden = node->in[2]->rank == 3 ? node->in[2]->dims[2].extent : -1;
	int64_t said = node_int(node, "hidden_size", lstm->hidden);
	INVALID_IF(lstm->hidden >= 0 && said != lstm->hidden, "hidden_size is %" PRId64 ", R has %" PRId64, said,
	        lstm->hidden);
	lstm->hidden = said;
}

/* Input i, where it is there, has these extents; -1 matches any. */
static void expect(const struct node *node, int i, const char *name, int rank, const int64_t *extents)
{
	const struct tensor *tensor = node_in(node, i);
	if (!tensor || tensor->rank < 0)
		return;
	INVALID_IF(tensor->rank != rank, "%s has %d dimensions, %d are right", name, tensor->rank, rank);
	FOR (d, rank)
		INVALID_IF(extents[d] >= 0 && tensor->dims[d].extent >= 0 && tensor->dims[d].extent != extents[d],
		        "%s has %" PRId64 " in dimension %d, %" PRId64 " is right", name, tensor->dims[d].extent, d,
		        extents[d]);
}

static void infer_recurrent(struct node *node, const struct recurrence *kind)
{
	struct lstm lstm;
	enum dtype type = node->in[0]->type;
	lstm_of(node, kind, &lstm);
	const struct tensor *x = node->in[0];
	if (x->rank < 0) {
		FOR (i, node->outs)
			infer_type(node, i, type);
		return;
	}
	INVALID_IF(x->rank != 3, "X has %d dimensions, 3 are right", x->rank);
	struct dim steps = x->dims[lstm.batch_first], batch = x->dims[!lstm.batch_first], hidden = dim_of(lstm.hidden);
	LIMIT_IF(lstm.hidden > INT32_MAX, "a hidden size of %" PRId64, lstm.hidden);
	int64_t dirs = lstm.directions, h = lstm.hidden, gates = h < 0 ? -1 : kind->gates * h,
	        biases = h < 0 ? -1 : 2 * gates, three = h < 0 ? -1 : 3 * h;
	int64_t state[2][3] = { { dirs, batch.extent, h }, { batch.extent, dirs, h } };
	expect(node, 1, "W", 3, (int64_t[3]){ dirs, gates, x->dims[2].extent });
	expect(node, 2, "R", 3, (int64_t[3]){ dirs, gates, h });
	expect(node, 3, "B", 2, (int64_t[2]){ dirs, biases });
	expect(node, 4, "sequence_lens", 1, (int64_t[1]){ batch.extent });
	expect(node, 5, "initial_h", 3, state[lstm.batch_first]);
	expect(node, 6, "initial_c", 3, state[lstm.batch_first]);
	expect(node, 7, "P", 2, (int64_t[2]){ dirs, three });
	struct dim dir = dim_of(dirs);
	struct dim y[2][4] = { { steps, dir, batch, hidden }, { batch, steps, dir, hidden } };
	struct dim last[2][3] = { { dir, batch, hidden }, { batch, dir, hidden } };
	infer_output(node, 0, type, 4, y[lstm.batch_first]);
	infer_output(node, 1, type, 3, last[lstm.batch_first]);
	infer_output(node, 2, type, 3, last[lstm.batch_first]);
}

void infer_lstm(struct node *node) { infer_recurrent(node, &of_lstm); }
void infer_gru(struct node *node) { infer_recurrent(node, &of_gru); }
void infer_rnn(struct node *node) { infer_recurrent(node, &of_rnn); }

/* ---- ingot.Lengths: where sequences end whose steps are counted ---- */
void infer_lengths(struct node *node)
{
	infer_made(node);
	infer_least(node, 1);
	infer_output(node, 0, DTYPE_I32, 1, (struct dim[]){ dim_of(attribute_int(node, "at")) });
}

void define_lengths(struct definer *definer)
{
	int64_t extents[1];
	index_ref at[1];
	struct definition *lengths = IN(1);
	expr_ref steps = ELEMENT(0, 0);
	definer_shape(definer, 0, extents, at);
	if (lengths)
		steps = I_MIN(steps, CAST(DTYPE_I64, LOAD(lengths, at)));
	OUT(0, CAST(DTYPE_I32, steps));
}

/* ---- definitions ---- */
struct unrolling {
	struct definer *definer;
	struct lstm lstm;
	struct definition *x, *w, *r, *b, *lengths, *initial_h, *initial_c, *p;
	int64_t steps, batch, inputs;
	struct definition **h[2];   /* [direction][step]: the hidden state after it */
	struct definition *c[2];    /* [direction]: the cell after the last step */
	struct definition *rest[2]; /* [direction]: the hidden states after the second step and on, [step - 1, b, h];
	                               NULL: the steps are unrolled */
	expr_ref round;             /* inside a loop: the number of the step; else NULL */
	struct definition *there;   /* no sequence has more steps than it says; NULL: all there are */
	struct definition *
	        *groups[2]; /* [direction][n]: the hidden states after many steps, side by side; NULL: not made */
};

static const char *name_at(struct unrolling *u, const char *part, int direction, int64_t step)
{
	struct definer *definer = u->definer;
	const char *name = u->lstm.directions == 1 ? part : FORMAT("%s_%s", part, direction ? "back" : "forth");
	return NAMED(step < 0 ? name : FORMAT("%s%" PRId64, name, step));
}

/* The length of sequence b, as int64. */
static expr_ref length_of(struct unrolling *u, index_ref b)
{
	struct definer *definer = u->definer;
	return CAST(DTYPE_I64, LOAD(u->lengths, &b));
}

/* The time that step s of a reversed sequence reads: its length - 1 - s; any time where the sequence has ended. */
static index_ref reversed(struct unrolling *u, index_ref s, index_ref b)
{
	struct definer *definer = u->definer;
	if (!u->lengths)
		return PLUS(SCALE(s, -1), u->steps - 1);
	expr_ref time = SUB(SUB(length_of(u, b), I(1)), POSITION(s));
	time = MAX(time, I(0));
	time = MIN(time, I(u->steps - 1));
	return VALUE(time, 0, u->steps - 1);
}

/* s < length of b ? yes : no */
static expr_ref while_running(struct unrolling *u, index_ref s, index_ref b, expr_ref yes, expr_ref no)
{
	struct definer *definer = u->definer;
	if (!u->lengths)
		return yes;
	expr_ref runs = LESS(u->round ? u->round : POSITION(s), length_of(u, b));
	return WHERE(CAST(yes->type, runs), yes, no);
}

/* The two biases of each gate, summed: a constant where they are. */
static expr_ref bias_at(struct unrolling *u, int direction, index_ref gate)
{
	struct definer *definer = u->definer;
	int64_t extent = u->lstm.kind->gates * u->lstm.hidden;
	index_ref g = VAR(0, extent), dir = CONSTANT(direction);
	if (!u->b)
		return NULL;
	expr_ref own = LOAD(u->b, AT(dir, g));
	expr_ref sum = ADD(own, LOAD(u->b, AT(dir, PLUS(g, extent))));
	const struct range summed = { g, 0, GRU_HIDDEN * u->lstm.hidden };
	if (u->lstm.late_reset) /* the hidden gate's second one is the reset gate's to take */
		sum = SELECT(&summed, 1, sum, own);
	return LOAD(MAP(name_at(u, "bias", direction, -1), 1, &extent, sum), &gate);
}

/* gates[s, b, g] of `steps` steps from `first` on, from the input alone, starting from the biases */
static struct definition *input_part(struct unrolling *u, int direction, int64_t first, int64_t steps)
{
	struct definer *definer = u->definer;
	int64_t extents[3] = { steps, u->batch, u->lstm.kind->gates * u->lstm.hidden };
	index_ref s = PLUS(VAR(0, extents[0]), first), b = VAR(1, extents[1]), g = VAR(2, extents[2]);
	index_ref k = VAR(3, u->inputs), dir = CONSTANT(direction);
	index_ref time = u->lstm.reverse[direction] ? reversed(u, s, b) : s;
	expr_ref x = LOAD(u->x, u->lstm.batch_first ? AT(b, time, k) : AT(time, b, k));
	expr_ref w = LOAD(u->w, AT(dir, g, k)), start = bias_at(u, direction, g);
	struct definition *there = u->there && first
	        ? MAP(name_at(u, "steps", direction, -1), 0, NULL, I_SUB(LOAD(u->there, NULL), I(first)))
	        : u->there;
	struct definition *sum =
	        REDUCE(name_at(u, "input", direction, -1), 3, extents, REDUCE_SUM, 1, &u->inputs, start, MUL(x, w));
	mark_batch(sum, 1 | 2); /* no step's numbers depend on how many there are */
	sum->count.ends[0] = there;
	return sum;
}

/* What a step starts from, [b, h]: the state of the step before, the given one, or NULL, which is 0. */
struct state {
	struct definition *of;
	bool initial;
	int direction;
};

static expr_ref state_at(struct unrolling *u, const struct state *state, index_ref b, index_ref h)
{
	struct definer *definer = u->definer;
	index_ref dir = CONSTANT(state->direction);
	if (!state->of)
		return NULL;
	if (!state->initial)
		return LOAD(state->of, AT(b, h));
	return LOAD(state->of, u->lstm.batch_first ? AT(b, dir, h) : AT(dir, b, h));
}

/* Of the gates; the cell's own activation h is not clipped, as onnxruntime has it. */
static expr_ref clipped(struct unrolling *u, expr_ref x)
{
	struct definer *definer = u->definer;
	if (u->lstm.clip <= 0)
		return x;
	x = MAX(x, LIKE(x, -u->lstm.clip));
	return MIN(x, LIKE(x, u->lstm.clip));
}

static void step(struct unrolling *u, int direction, int64_t s, struct definition *input, struct state *hidden,
        struct state *cell)
{
	struct definer *definer = u->definer;
	int64_t size = u->lstm.hidden, extents[2] = { u->batch, GATES * size };
	index_ref b = VAR(0, u->batch), g = VAR(1, extents[1]), k = VAR(2, size);
	index_ref dir = CONSTANT(direction), now = CONSTANT(s);
	expr_ref from_input = LOAD(input, AT(now, b, g));
	struct definition *gates = input;
	if (hidden->of) {
		expr_ref r = LOAD(u->r, AT(dir, g, k));
		gates = REDUCE(name_at(u, "gates", direction, s), 2, extents, REDUCE_SUM, 1, &size, from_input,
		        MUL(state_at(u, hidden, b, k), r));
		mark_batch(gates, 1);
	}
	extents[1] = size;
	index_ref h = VAR(1, size);
	expr_ref gate[GATES], before = state_at(u, cell, b, h);
	FOR (i, GATES) {
		index_ref place = PLUS(h, i * size);
		gate[i] = LOAD(gates, gates == input ? AT(now, b, place) : AT(b, place));
	}
	/* peepholes stand in the order input, output, forget */
	expr_ref peephole[3] = { NULL };
	FOR_WHILE (i, u->p, 3)
		peephole[i] = LOAD(u->p, AT(dir, PLUS(h, i * size)));
	if (u->p && before) {
		gate[GATE_INPUT] = FMA(peephole[GATE_INPUT], before, gate[GATE_INPUT]);
		gate[GATE_FORGET] = FMA(peephole[GATE_FORGET], before, gate[GATE_FORGET]);
	}
	expr_ref in = activate(definer, &u->lstm.f[direction], clipped(u, gate[GATE_INPUT]));
	expr_ref forget = u->lstm.coupled ? SUB(LIKE(in, 1), in)
	                                  : activate(definer, &u->lstm.f[direction], clipped(u, gate[GATE_FORGET]));
	expr_ref fresh = MUL(in, activate(definer, &u->lstm.g[direction], clipped(u, gate[GATE_CELL])));
	expr_ref next = before ? FMA(forget, before, fresh) : fresh;
	expr_ref zero = LIKE(next, 0);
	next = while_running(u, now, b, next, before ? before : zero);
	struct definition *new_cell = MAP(name_at(u, "cell", direction, s), 2, extents, next);
	expr_ref c = LOAD(new_cell, AT(b, h));
	if (u->p)
		gate[GATE_OUTPUT] = FMA(peephole[GATE_OUTPUT], c, gate[GATE_OUTPUT]);
	expr_ref out = activate(definer, &u->lstm.f[direction], clipped(u, gate[GATE_OUTPUT]));
	expr_ref y = MUL(out, activate(definer, &u->lstm.h[direction], c));
	expr_ref kept = state_at(u, hidden, b, h);
	y = while_running(u, now, b, y, kept ? kept : zero);
	struct definition *new_hidden = MAP(name_at(u, "hidden", direction, s), 2, extents, y);
	*hidden = (struct state){ new_hidden, false, direction };
	*cell = (struct state){ new_cell, false, direction };
}

/* sum over k of the hidden state (or what stands for it) and rows [from, from + rows) of R, from `start` on, a
 * definition [b, rows] */
typedef expr_ref element(struct unrolling *, const void *of, index_ref b, index_ref k);
static struct definition *hidden_part(struct unrolling *u, const char *name, int direction, int64_t s, element *at,
        const void *of, int64_t from, int64_t rows, expr_ref start)
{
	struct definer *definer = u->definer;
	int64_t size = u->lstm.hidden, extents[2] = { u->batch, rows };
	index_ref b = VAR(0, u->batch), g = PLUS(VAR(1, rows), from), k = VAR(2, size);
	expr_ref r = LOAD(u->r, AT(CONSTANT(direction), g, k));
	struct definition *sum = REDUCE(
	        name_at(u, name, direction, s), 2, extents, REDUCE_SUM, 1, &size, start, MUL(at(u, of, b, k), r));
	mark_batch(sum, 1);
	return sum;
}

static expr_ref hidden_at(struct unrolling *u, const void *state, index_ref b, index_ref k)
{
	return state_at(u, state, b, k);
}

static expr_ref element_at(struct unrolling *u, const void *of, index_ref b, index_ref k)
{
	struct definer *definer = u->definer;
	return LOAD((struct definition *)(uintptr_t)of, AT(b, k));
}

/* The new hidden state; a sequence that has ended keeps the old one. */
static void keep_hidden(struct unrolling *u, int direction, int64_t s, struct state *hidden, expr_ref y)
{
	struct definer *definer = u->definer;
	int64_t extents[2] = { u->batch, u->lstm.hidden };
	index_ref b = VAR(0, u->batch), h = VAR(1, u->lstm.hidden);
	expr_ref kept = state_at(u, hidden, b, h);
	y = while_running(u, CONSTANT(s), b, y, kept ? kept : LIKE(y, 0));
	*hidden = (struct state){ MAP(name_at(u, "hidden", direction, s), 2, extents, y), false, direction };
}

static void step_rnn(struct unrolling *u, int direction, int64_t s, struct definition *input, struct state *hidden)
{
	struct definer *definer = u->definer;
	index_ref b = VAR(0, u->batch), h = VAR(1, u->lstm.hidden);
	expr_ref sum = LOAD(input, AT(CONSTANT(s), b, h));
	if (hidden->of)
		sum = element_at(
		        u, hidden_part(u, "gates", direction, s, hidden_at, hidden, 0, u->lstm.hidden, sum), b, h);
	keep_hidden(u, direction, s, hidden, activate(definer, &u->lstm.f[direction], clipped(u, sum)));
}

/* h = (1 - z) g(…) + z before.  The reset gate scales the state before its product with R, or (late) that product and
 * its bias. */
static void step_gru(struct unrolling *u, int direction, int64_t s, struct definition *input, struct state *hidden)
{
	struct definer *definer = u->definer;
	int64_t size = u->lstm.hidden, rows = GRU_HIDDEN * size, extents[2] = { u->batch, size };
	index_ref now = CONSTANT(s), dir = CONSTANT(direction), b = VAR(0, u->batch);
	index_ref h = VAR(1, size), g = VAR(1, rows);
	expr_ref gate[GRU_GATES], before = state_at(u, hidden, b, h), late = NULL;
	FOR (i, GRU_GATES)
		gate[i] = LOAD(input, AT(now, b, PLUS(h, i * size)));
	if (u->lstm.late_reset && u->b)
		late = LOAD(u->b, AT(dir, PLUS(h, (GRU_GATES + GRU_HIDDEN) * size)));
	if (before) {
		expr_ref start = LOAD(input, AT(now, b, g));
		struct definition *gates = hidden_part(u, "gates", direction, s, hidden_at, hidden, 0, rows, start);
		FOR (i, GRU_HIDDEN)
			gate[i] = element_at(u, gates, b, PLUS(h, i * size));
		if (u->lstm.late_reset)
			late = element_at(u,
			        hidden_part(u, "late", direction, s, hidden_at, hidden, GRU_HIDDEN * size, size, late),
			        b, h);
	}
	expr_ref update = activate(definer, &u->lstm.f[direction], clipped(u, gate[GRU_UPDATE]));
	expr_ref reset = activate(definer, &u->lstm.f[direction], clipped(u, gate[GRU_RESET]));
	if (late)
		gate[GRU_HIDDEN] = FMA(reset, late, gate[GRU_HIDDEN]);
	else if (before && !u->lstm.late_reset) {
		struct definition *left = MAP(name_at(u, "reset", direction, s), 2, extents, MUL(reset, before));
		gate[GRU_HIDDEN] = element_at(u,
		        hidden_part(
		                u, "fresh", direction, s, element_at, left, GRU_HIDDEN * size, size, gate[GRU_HIDDEN]),
		        b, h);
	}
	expr_ref fresh = activate(definer, &u->lstm.g[direction], clipped(u, gate[GRU_HIDDEN]));
	expr_ref y = MUL(SUB(LIKE(update, 1), update), fresh);
	keep_hidden(u, direction, s, hidden, before ? FMA(update, before, y) : y);
}

/* Step `at` of [from, to): a balanced tree of selects.  h[i] holds `each` steps from i * each on, [step, b, h]; where
 * each is 1, [b, h]. */
static expr_ref choose_step(struct unrolling *u, struct definition **h, int64_t each, index_ref at, int64_t from,
        int64_t to, const index_ref *place)
{
	struct definer *definer = u->definer;
	int64_t count = (to - from + each - 1) / each, middle = from + count / 2 * each;
	if (count == 1 && each == 1)
		return LOAD(h[from], place);
	if (count == 1)
		return LOAD(h[from / each], AT(PLUS(at, -from), place[0], place[1]));
	struct range first = { at, from, middle };
	return SELECT(&first, 1, choose_step(u, h, each, at, from, middle, place),
	        choose_step(u, h, each, at, middle, to, place));
}

/* Many steps are gathered in groups first, so that nothing reads more tensors than a function should have parameters.
 */
static expr_ref choose_of_all(struct unrolling *u, int direction, index_ref at, const index_ref *place)
{
	struct definer *definer = u->definer;
	struct definition **h = u->h[direction];
	if (u->rest[direction]) {
		struct range first = { at, 0, 1 };
		expr_ref others = LOAD(u->rest[direction], AT(PLUS(at, -1), place[0], place[1]));
		return SELECT(&first, 1, LOAD(h[0], place), others);
	}
	int64_t groups = ceil_div(u->steps, STEPS_TOGETHER);
	if (u->steps <= STEPS_TOGETHER)
		return choose_step(u, h, 1, at, 0, u->steps, place);
	if (!u->groups[direction]) {
		u->groups[direction] = arena_new_array(definer->arena, struct definition *, groups);
		FOR (g, groups) {
			int64_t from = g * STEPS_TOGETHER, left = u->steps - from;
			int64_t extents[3] = { left < STEPS_TOGETHER ? left : STEPS_TOGETHER, u->batch,
				u->lstm.hidden };
			index_ref own[3];
			VARS(own, 3, extents);
			u->groups[direction][g] = MAP(name_at(u, "states", direction, from), 3, extents,
			        choose_step(u, h + from, 1, own[0], 0, extents[0], own + 1));
		}
	}
	return choose_step(u, u->groups[direction], STEPS_TOGETHER, at, 0, u->steps, place);
}

static expr_ref output_at(struct unrolling *u, int direction, index_ref t, index_ref b, index_ref h)
{
	struct definer *definer = u->definer;
	index_ref place[3] = { b, h };
	if (!u->lstm.reverse[direction] || !u->lengths) {
		index_ref s = u->lstm.reverse[direction] ? reversed(u, t, b) : t;
		expr_ref y = choose_of_all(u, direction, s, place);
		return while_running(u, t, b, y, LIKE(y, 0));
	}
	/* the step is data: all steps into one tensor, read at the step's number */
	int64_t extents[3] = { u->steps, u->batch, u->lstm.hidden };
	index_ref own[3];
	VARS(own, 3, extents);
	struct definition *all =
	        MAP(name_at(u, "all", direction, -1), 3, extents, choose_of_all(u, direction, own[0], own + 1));
	expr_ref y = LOAD(all, AT(reversed(u, t, b), b, h));
	return while_running(u, t, b, y, LIKE(y, 0));
}

static expr_ref of_direction(struct unrolling *u, index_ref dir, expr_ref first, expr_ref second)
{
	struct definer *definer = u->definer;
	struct range is_first = { dir, 0, 1 };
	return second ? SELECT(&is_first, 1, first, second) : first;
}

static void outputs(struct unrolling *u)
{
	struct definer *definer = u->definer;
	index_ref at[MAX_RANK];
	int64_t extents[MAX_RANK];
	bool first = u->lstm.batch_first;
	if (node_has_out(NODE, 0)) {
		definer_shape(definer, 0, extents, at);
		index_ref t = at[first ? 1 : 0], b = at[first ? 0 : 2], dir = at[first ? 2 : 1];
		expr_ref back = u->lstm.directions == 2 ? output_at(u, 1, t, b, at[3]) : NULL;
		OUT(0, of_direction(u, dir, output_at(u, 0, t, b, at[3]), back));
	}
	FOR_FROM (i, 1, 3) {
		if (!node_has_out(NODE, i))
			continue;
		definer_shape(definer, i, extents, at);
		index_ref place[2] = { at[first ? 0 : 1], at[2] };
		expr_ref each[2] = { NULL };
		FOR (d, u->lstm.directions)
			each[d] = LOAD(i == 1 ? u->h[d][u->steps - 1] : u->c[d], place);
		OUT(i, of_direction(u, at[first ? 1 : 0], each[0], each[1]));
	}
}

static void take_step(struct unrolling *u, int direction, int64_t s, struct definition *input, struct state *hidden,
        struct state *cell)
{
	if (u->lstm.kind == &of_lstm)
		step(u, direction, s, input, hidden, cell);
	else
		(u->lstm.kind == &of_gru ? step_gru : step_rnn)(u, direction, s, input, hidden);
}

/* Whether a step comes: no sequence goes on behind the last that is there. */
static struct definition *comes(
        struct unrolling *u, struct program *program, int direction, expr_ref step, struct definition *there)
{
	struct definer *definer = u->definer;
	return define_map(
	        program, name_at(u, "comes", direction, -1), 0, NULL, CAST(DTYPE_BOOL, LESS(step, LOAD(there, NULL))));
}

/* All steps behind the first, which may have no state before it.  Their definitions are those that they would be one by
 * one. */
static void loop_steps(struct unrolling *u, int direction, struct state *hidden, struct state *cell)
{
	struct definer *definer = u->definer;
	static const int64_t second = 1;
	struct looping l;
	struct unrolling body = *u;
	rounds_begin(&l, definer, program_new(definer->build, NODE->type));
	l.repeat->rounds = u->steps - 1;
	body.definer = &l.inside;
	struct definition *slice = rounds_in(&l, input_part(u, direction, 1, u->steps - 1), REPEAT_SLICED),
	                  *count = NULL, *going = NULL, *there = NULL;
	struct definition *h = rounds_in(&l, hidden->of, REPEAT_CARRIED),
	                  *c = rounds_in(&l, cell->initial ? NULL : cell->of, REPEAT_CARRIED);
	if (u->lengths) {
		count = rounds_in(&l,
		        define_constant(
		                definer->program, name_at(u, "second", direction, -1), DTYPE_I64, 0, NULL, &second),
		        REPEAT_CARRIED);
		body.round = LOAD(count, NULL);
	}
	if (u->there) {
		l.repeat->going = (int)l.in.count;
		going = rounds_in(&l, comes(u, definer->program, direction, I(second), u->there), REPEAT_CARRIED);
		there = rounds_in(&l, u->there, REPEAT_STEADY);
	}
	body.r = rounds_in(&l, u->r, REPEAT_STEADY);
	body.b = rounds_in(&l, u->lstm.late_reset ? u->b : NULL, REPEAT_STEADY);
	body.p = rounds_in(&l, u->p, REPEAT_STEADY);
	body.lengths = rounds_in(&l, u->lengths, REPEAT_STEADY);
	index_ref own[2] = { VAR(1, slice->extents[0]), VAR(2, slice->extents[1]) };
	struct definition *input = definer_map(&l.inside, name_at(&body, "now", direction, -1), 3,
	        (int64_t[3]){ 1, slice->extents[0], slice->extents[1] }, LOAD(slice, own));
	struct state next = { h, false, direction }, next_cell = { c, false, direction };
	take_step(&body, direction, 0, input, &next, &next_cell);
	rounds_out(&l, next.of, h);
	if (c)
		rounds_out(&l, next_cell.of, c);
	expr_ref next_step = count ? ADD(body.round, I(1)) : NULL;
	if (count)
		rounds_out(&l, define_map(l.repeat->body, "count", 0, NULL, next_step), count);
	if (going)
		rounds_out(&l, comes(&body, l.repeat->body, direction, next_step, there), going);
	rounds_out(&l, next.of, NULL);
	program_remove_dead(l.repeat->body);
	program_fold(l.repeat->body);
	*hidden = (struct state){ rounds_result(&l, 0, name_at(u, "hidden", direction, -1)), false, direction };
	if (c)
		*cell = (struct state){ rounds_result(&l, 1, name_at(u, "cell", direction, -1)), false, direction };
	u->rest[direction] = rounds_result(&l, l.out.count - 1, name_at(u, "rest", direction, -1));
}

static void define_recurrent(struct definer *definer, const struct recurrence *kind)
{
	struct unrolling u = { .definer = definer };
	lstm_of(NODE, kind, &u.lstm);
	struct definition **const inputs[] = { &u.x, &u.w, &u.r, &u.b, &u.lengths, &u.initial_h, &u.initial_c, &u.p };
	FOR (i, (int)COUNT(inputs))
		*inputs[i] = IN(i);
	u.steps = u.x->extents[u.lstm.batch_first];
	u.batch = u.x->extents[!u.lstm.batch_first];
	u.inputs = u.x->extents[2];
	if (u.steps < 1)
		node_unsupported(NODE, " over no step is not supported");
	if (definition_elements(u.w) == 0 || u.batch == 0)
		node_unsupported(NODE, " without elements is not supported");
	const struct node *counted = node_in(NODE, 4) ? NODE->in[4]->producer : NULL;
	if (counted && !strcmp(counted->type, "Lengths"))
		u.there = definer_count(definer, counted->in[0]);
	bool loops = u.steps > 2 && (u.there || repeat_pays(u.steps / UNROLLED_EACH, 1));
	FOR (direction, u.lstm.directions) {
		struct definition *input = input_part(&u, direction, 0, loops ? 1 : u.steps);
		struct state hidden = { u.initial_h, true, direction }, cell = { u.initial_c, true, direction };
		u.h[direction] = arena_new_array(definer->arena, struct definition *, u.steps);
		FOR (s, (loops ? 1 : u.steps)) {
			take_step(&u, direction, s, input, &hidden, &cell);
			u.h[direction][s] = hidden.of;
		}
		if (loops)
			loop_steps(&u, direction, &hidden, &cell);
		u.h[direction][u.steps - 1] = hidden.of;
		u.c[direction] = cell.of;
	}
	outputs(&u);
}

void define_lstm(struct definer *definer) { define_recurrent(definer, &of_lstm); }
void define_gru(struct definer *definer) { define_recurrent(definer, &of_gru); }
void define_rnn(struct definer *definer) { define_recurrent(definer, &of_rnn); }
