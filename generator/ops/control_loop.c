/* control_loop.c: Loop -> its rounds, one after the other, or one node that repeats its body. */
#include "ops/control.h"
#include "ops/words.h"

struct loop {
	struct holder h;
	size_t carried, scans; /* tensors handed on, and stacked */
	struct tensor **now;   /* the body's inputs: the round, the condition, those handed on */
	struct tensor
	        *going; /* whether all conditions so far were true, of those that come at run time; NULL: they are */
	struct tensor *alive;   /* whether this round is one, where that comes at run time; NULL: it is */
	struct tensor ***parts; /* of each scan, as many as rounds */
	int64_t rounds, room;
	struct tensor *ran; /* how many rounds there were so far, where that comes at run time and is asked; NULL: as
	                       many as `rounds` */
	bool unbounded;     /* nothing says how many rounds there may be */
	const char *why;    /* it is not made as one node */
};

/* The one number that it is given, whatever dims it makes of it. */
static bool hands_on(const struct node *node)
{
	const struct op *op = op_of(node);
	return (op->infer == infer_identity || op->infer == infer_reshape || op->infer == infer_squeeze
	               || op->infer == infer_unsqueeze)
	        && tensor_is_scalar_like(node->in[0]);
}

/* The most rounds that M may say: its number, or the end of its range where it is an input that has one, or a size that
 * has; INT64_MAX: nothing bounds it. */
static int64_t trips_most(const struct tensor *trips)
{
	while (trips && !trips->data && trips->producer && hands_on(trips->producer))
		trips = trips->producer->in[0];
	if (trips && trips->data)
		return tensor_int(trips, 0);
	FOR_WHILE (i, trips, trips->graph->said.count)
		if (trips->graph->said.at[i].size == trips)
			return trips->graph->said.at[i].most;
	int64_t most = trips && trips->sizes && tensor_is_scalar_like(trips) ? size_span(trips->sizes[0]).most
	                                                                     : ROUNDS_MOST + 1;
	return most <= ROUNDS_MOST ? most : INT64_MAX;
}

/* The most that a range, of its symbol or of M, lets output k stack; -1: none does. */
static int64_t asked_rounds(const struct node *node, size_t k)
{
	const struct tensor *out = node->out[k], *trips = node_in(node, 0);
	if (!out || (out->rank > 0 && dim_is_known(out->dims[0])))
		return -1;
	const struct asked *asked =
	        out->rank > 0 && out->dims[0].symbol ? graph_asked(out->graph, out->dims[0].symbol) : NULL;
	int64_t most = trips && !trips->data ? trips_most(trips) : INT64_MAX;
	return asked && asked->most < most ? asked->most : most < INT64_MAX ? most : -1;
}

/* The rounds that outputs are declared to have, or have at most; -1: none is. */
static int64_t rounds_declared(const struct loop *loop)
{
	const struct node *node = loop->h.node;
	FOR_FROM (k, loop->carried, (size_t)node->outs)
		if (node->out[k] && node->out[k]->rank > 0 && dim_is_known(node->out[k]->dims[0]))
			return node->out[k]->dims[0].extent;
		else if (asked_rounds(node, k) >= 0)
			return asked_rounds(node, k);
	return -1;
}

/* Those that come at run time have a bound: M, or the declared outputs.  -1: nothing bounds them. */
static int64_t bound_of(const struct loop *loop, const struct tensor *trips)
{
	int64_t bound = trips_most(trips), declared = rounds_declared(loop);
	if (declared >= 0 && declared < bound)
		bound = declared;
	return bound > ROUNDS_MOST || (loop->scans && declared < 0) ? -1 : bound;
}

static struct tensor *both(struct holder *h, struct tensor *a, struct tensor *b)
{
	return !a ? b : !b ? a : holder_add(h, "", "And", TENSORS(a, b));
}

static bool comes(const struct tensor *tensor) { return tensor && !tensor->data; }

/* A round `at`, where M comes at run time; NULL: it does not. */
static struct tensor *is_below(struct loop *loop, struct tensor *trips, int64_t at)
{
	return comes(trips) ? holder_add(&loop->h, "", "Less", TENSORS(holder_number(&loop->h, 0, at), trips)) : NULL;
}

static struct tensor *goes_on(const struct loop *loop) { return comes(loop->now[1]) ? loop->now[1] : NULL; }

static bool ends(const struct loop *loop, const struct tensor *trips, int64_t at)
{
	return (trips && trips->data && at >= tensor_int(trips, 0))
	        || (loop->now[1]->data && !tensor_int(loop->now[1], 0));
}

/* A bool of one element, of rank 0. */
static struct tensor *scalar_truth(struct holder *h, struct tensor *tensor)
{
	return tensor->rank == 0
	        ? tensor
	        : holder_add(h, "", "Reshape",
	                TENSORS(tensor, graph_constant(h->graph, "scalar", DTYPE_I64, 1, (int64_t[1]){ 0 }, "")));
}

static struct tensor *one_if(struct holder *h, struct tensor *holds)
{
	return holder_add_with(h, "", "Cast", 1, &holds, "to", DTYPE_I64, NULL);
}

/* Whether there may be a round `at`; `alive` says it where that comes at run time. */
static bool begins(struct loop *loop, struct tensor *trips, int64_t at)
{
	struct holder *h = &loop->h;
	if (ends(loop, trips, at))
		return false;
	if (comes(trips) || comes(loop->now[1]) || loop->going) {
		int64_t bound = bound_of(loop, trips);
		loop->unbounded = bound < 0;
		if (at >= bound)
			return false;
		loop->going = both(h, loop->going, goes_on(loop));
		loop->alive = both(h, loop->going, is_below(loop, trips, at));
		FOR_FROM (k, loop->carried, (size_t)h->node->outs)
			if (asked_rounds(h->node, k) >= 0) {
				struct tensor *one =
				        loop->alive ? one_if(h, scalar_truth(h, loop->alive)) : holder_number(h, 0, 1);
				loop->ran = loop->ran ? holder_add(h, "", "Add", TENSORS(loop->ran, one)) : one;
				break;
			}
	}
	if (at >= ROUNDS_MOST)
		node_limit(h->node, "more than %d rounds (one after the other, since %s)", ROUNDS_MOST, loop->why);
	return true;
}

/* What is stacked where a range bounds the rounds: as many as ran, and one more where the loop would go on. */
static struct tensor *counted_stack(struct loop *loop, struct tensor *trips, struct tensor *stack)
{
	struct holder *h = &loop->h;
	struct tensor *ran = loop->ran ? loop->ran : holder_number(h, 0, loop->rounds);
	if (!ends(loop, trips, loop->rounds)) {
		struct tensor *more = both(h, both(h, loop->going, goes_on(loop)), is_below(loop, trips, loop->rounds));
		ran = holder_add(
		        h, "", "Add", TENSORS(ran, more ? one_if(h, scalar_truth(h, more)) : holder_number(h, 0, 1)));
	}
	return holder_add_with(h, "ingot", "Loop", TENSORS(stack, ran), "counted", 1, NULL);
}

/* What is stacked, where as many rounds as there are parts come at run time: their last one is one, and none would
 * follow. */
static struct tensor *assured(struct loop *loop, struct tensor *trips, struct tensor *stack)
{
	struct holder *h = &loop->h;
	struct tensor *holds = loop->rounds ? loop->alive : NULL;
	if (comes(trips) && !loop->going && !comes(loop->now[1])
	        && !ends(loop, trips, loop->rounds)) /* M alone says it */
		holds = trips;
	else if (!ends(loop, trips, loop->rounds)) {
		struct tensor *more = both(h, goes_on(loop), is_below(loop, trips, loop->rounds));
		holds = both(h, holds, more ? holder_add(h, "", "Not", 1, &more) : holder_truth(h, false));
	}
	return holds ? holder_add_with(h, "ingot", "Loop", TENSORS(stack, holds), "rounds", loop->rounds, NULL) : stack;
}

static void add_parts(struct loop *loop, struct tensor *const *parts)
{
	if (loop->rounds == loop->room) {
		int64_t room = loop->room ? 2 * loop->room : 8;
		FOR (k, loop->scans) {
			struct tensor **longer = arena_new_array(loop->h.arena, struct tensor *, room);
			if (loop->room)
				COPY(longer, loop->parts[k], loop->room);
			loop->parts[k] = longer;
		}
		loop->room = room;
	}
	FOR (k, loop->scans)
		loop->parts[k][loop->rounds] = parts[k];
	loop->rounds++;
}

/* The number of a round, of the rank that the body says. */
static struct tensor *number_of_round(struct loop *loop, int64_t at)
{
	return holder_number(&loop->h, loop->h.expansion.body->inputs.at[0]->rank == 1, at);
}

/* What is no optional, handed on to a round that is given one, is an optional with a value there. */
static struct tensor *as_given(struct holder *h, const struct tensor *declared, struct tensor *next)
{
	if (next->form == declared->form || next->form != (declared->form & ~FORM_OPTIONAL)
	        || (next->form && !next->list))
		return next;
	struct tensor *optional = graph_tensor_fresh(h->graph, next->name);
	struct list *list = arena_new(h->arena, struct list);
	*list = next->list ? *next->list
	                   : (struct list){ .count = 1, .at = arena_new_array(h->arena, struct tensor *, 1) };
	if (!next->list)
		list->at[0] = next;
	optional->form = declared->form;
	optional->type = next->type;
	optional->rank = next->rank;
	memcpy(optional->dims, next->dims, sizeof next->dims);
	optional->list = list;
	return optional;
}

static void play(struct loop *loop, int64_t at)
{
	struct holder *h = &loop->h;
	size_t count = 2 + loop->carried;
	loop->now[0] = number_of_round(loop, at);
	FOR_FROM (i, 2, count) {
		loop->now[i] = as_given(h, h->expansion.body->inputs.at[i], loop->now[i]);
		holder_want_fit(h, i, loop->now[i]);
	}
	struct tensor **out = holder_expand(h, (int)count, loop->now, loop->alive, true);
	if (types_differ(out[0], loop->now[1]) || (out[0]->rank >= 0 && !tensor_is_scalar_like(out[0])))
		node_fail(h->node, EXIT_INVALID, "the condition that the body hands on is %s, bool is right",
		        holder_described(h, out[0]));
	FOR (i, loop->carried) {
		struct tensor *before = loop->now[2 + i],
		              *next = loop->alive ? as_given(h, before, out[1 + i]) : out[1 + i];
		if (types_differ(before, as_given(h, before, next))
		        || (loop->alive && !next->form && ranks_differ(before, next)))
			node_fail(h->node, EXIT_INVALID, "the body is given %s as %s and hands on %s",
			        h->expansion.body->inputs.at[2 + i]->name, holder_described(h, before),
			        holder_described(h, next));
		if (loop->alive && (shapes_differ(before, next) || (next->form && !next->list)))
			node_fail(h->node, EXIT_UNSUPPORTED,
			        "the body is given %s as %s and hands on %s; a shape that the number of rounds decides "
			        "is not supported where that comes at run time",
			        h->expansion.body->inputs.at[2 + i]->name, holder_described(h, before),
			        holder_described(h, next));
		loop->now[2 + i] = loop->alive ? holder_select(h, loop->alive, next, before) : next;
	}
	loop->now[1] = out[0];
	add_parts(loop, out + 1 + loop->carried);
}

/* ---- Loop as one node ---- */
enum { ENDLESS_MOST = 1 << 20 }; /* rounds where data alone end it: more are a status */

/* Rounds as far as a constant, or what outputs are declared to stack, says; else as many as anybody waits for. */
static int64_t repeated_rounds(const struct loop *loop, const struct tensor *trips, bool open)
{
	int64_t bound = trips_most(trips), declared = open && loop->scans ? rounds_declared(loop) : -1;
	if (open && loop->scans && declared < 0)
		return -1;
	bound = declared >= 0 && declared < bound ? declared : bound;
	return bound <= REPEATED_MOST ? bound : open && !loop->scans ? ENDLESS_MOST : -1;
}

/* What says whether a round comes, where that comes at run time: the condition, the count, or both. */
struct going {
	struct tensor *trips, *first;    /* Loop's own two inputs */
	struct tensor *on;               /* what the body says */
	struct tensor *round, *next;     /* the round's number, and the one behind it; NULL: nobody asks */
	struct tensor *starts, *goes_on; /* before the first round, and behind each; NULL: always */
	bool counts, open;               /* by a count of run time; by anything of run time */
};

static void say_going(struct loop *loop, struct repeating *r, struct holder *in, struct going *g)
{
	struct holder *h = &loop->h;
	g->starts = comes(g->first) ? g->first : NULL;
	g->counts = comes(g->trips);
	g->open = comes(g->on) || g->starts || g->counts;
	if (!g->counts && !(g->open && loop->scans) && !repeat_reads(r, g->round))
		repeat_drop(r, g->round);
	else
		g->next = holder_add(in, "", "Add", TENSORS(g->round, holder_number(in, 0, 1)));
	g->goes_on = comes(g->on) ? scalar_truth(in, g->on) : NULL;
	if (!g->counts)
		return;
	struct tensor *scalar = scalar_truth(h, g->trips);
	g->starts = both(h, g->starts ? scalar_truth(h, g->starts) : NULL,
	        holder_add(h, "", "Less", TENSORS(holder_number(h, 0, 0), scalar)));
	g->goes_on = both(in, g->goes_on, scalar_truth(in, holder_add(in, "", "Less", TENSORS(g->next, scalar))));
}

/* The node's outputs from the repeated one's: the number of rounds, what is handed on, whether more would follow,
 * stacks. */
static void give_results(struct loop *loop, const struct going *g, struct tensor **results, int64_t rounds)
{
	struct holder *h = &loop->h;
	struct node *node = h->node;
	struct tensor **last = results + (g->next != NULL), **stack = last + loop->carried + g->open;
	struct tensor *more = g->open ? last[loop->carried] : NULL, *count = NULL;
	if (g->open && loop->scans) /* as many as are stacked, and none would follow */
		count = g->counts && !comes(g->first) && !comes(g->on)
		        ? g->trips
		        : holder_add(h, "", "Add", TENSORS(results[0], one_if(h, more)));
	bool bounded = g->trips && g->trips->data && tensor_int(g->trips, 0) <= REPEATED_MOST;
	FOR (k, loop->carried) {
		struct tensor *one = last[k];
		if (!k && g->open && !loop->scans && !bounded)
			one = holder_add_with(h, "ingot", "Loop", TENSORS(one, holder_add(h, "", "Not", 1, &more)),
			        "most", rounds, NULL);
		holder_out(h, (int)k, one);
	}
	FOR_FROM (k, loop->carried, loop->carried + loop->scans)
		if (node_has_out(node, (int)k)) {
			struct tensor *one = *stack++;
			bool asked = asked_rounds(node, k) >= 0;
			struct tensor *ran = asked && count == g->trips
			        ? holder_add(h, "", "Max", TENSORS(g->trips, holder_number(h, 0, 0)))
			        : count;
			holder_out(h, (int)k,
			        count ? holder_add_with(h, "ingot", "Loop", TENSORS(one, ran),
			                asked ? "counted" : "rounds", asked ? 1 : rounds, NULL)
			              : one);
		}
}

static bool repeat_loop(struct repeating *r, void *user)
{
	struct loop *loop = user;
	struct holder *h = &loop->h, in = holder_inside(h, r);
	struct node *node = h->node;
	struct going g = { .trips = node_in(node, 0), .first = loop->now[1] };
	struct tensor *going = NULL, **now = arena_new_array(h->arena, struct tensor *, 2 + loop->carried);
	if ((g.first->data && !tensor_int(g.first, 0)) || (g.trips && g.trips->data && tensor_int(g.trips, 0) < 2))
		return false;
	FOR (i, loop->carried)
		holder_want_fit(h, 2 + i, loop->now[2 + i]);
	g.round = now[0] = repeat_in(r, number_of_round(loop, 0), REPEAT_CARRIED, false);
	now[1] = holder_truth(&in, true);
	FOR (i, loop->carried)
		now[2 + i] = repeat_in(r, loop->now[2 + i], REPEAT_CARRIED, false);
	struct tensor **out = holder_expand(&in, 2 + (int)loop->carried, now, NULL, true);
	g.on = out[0];
	if (g.on->type != DTYPE_BOOL || !tensor_is_scalar_like(g.on) || (g.on->data && !tensor_int(g.on, 0)))
		return false;
	say_going(loop, r, &in, &g);
	int64_t rounds = repeated_rounds(loop, g.trips, g.open);
	if (rounds < 1)
		return false;
	if (g.open)
		going = repeat_in(
		        r, g.starts ? scalar_truth(h, g.starts) : holder_truth(h, true), REPEAT_CARRIED, false);
	if (g.next)
		repeat_out(r, g.next, now[0], false);
	FOR (i, loop->carried)
		repeat_out(r, out[1 + i], now[2 + i], false);
	if (g.open)
		repeat_out(r, g.goes_on ? g.goes_on : holder_truth(&in, true), going, false);
	FOR (k, loop->scans)
		if (node_has_out(node, (int)(loop->carried + k)))
			repeat_out(r, out[1 + loop->carried + k], NULL, false);
	if (!r->out.count)
		return false;
	give_results(loop, &g, repeat_node(r, rounds, going), rounds);
	return true;
}

void control_refuse_loop(const struct node *node)
{
	const struct tensor *trips = node_in(node, 0);
	FOR_FROM (k, node->ins > 2 ? node->ins - 2 : 0, node->outs)
		FAIL_IF(node->out[k] && node->out[k]->is_output && node->out[k]->rank > 0
		                && node->out[k]->dims[0].symbol,
		        EXIT_USAGE, "Loop: nothing says how many rounds output %.60s stacks: use --dim %.60s=NUMBER",
		        node->out[k]->name, node->out[k]->dims[0].symbol);
	FAIL_IF(trips && trips->is_input, EXIT_USAGE,
	        "Loop: nothing bounds the rounds that input %.60s says: use --dim %.60s=0..MOST or --value "
	        "%.60s=NUMBER",
	        trips->name, trips->name, trips->name);
	UNSUPPORTED_IF(trips && trips->data && tensor_int(trips, 0) <= ROUNDS_MOST,
	        "how many rounds there are comes at run time, and no declared shape says how many an "
	        "output stacks");
	node_unsupported(node,
	        "how many rounds there are comes at run time, and neither a constant M of at most %d nor the "
	        "declared shape of an output bounds them",
	        ROUNDS_MOST);
}

bool expand_loop(struct bodies *bodies, struct node *node, const struct op *op)
{
	struct loop loop = { .h = holder_of(bodies, node) };
	struct holder *h = &loop.h;
	struct graph *body = h->expansion.body = control_graph(node, "body");
	const struct bodies_mark before = bodies_mark(bodies, h->graph);
	(void)op;
	infer_counts(node, 0, ANY, ANY);
	struct tensor *trips = node_in(node, 0);
	INVALID_IF(trips && trips->type != DTYPE_NONE && trips->type != DTYPE_I64, "M is %s, int64 is right",
	        dtypes[trips->type].text);
	infer_scalar(node, 0);
	control_want_truth(node, 1);
	loop.carried = node->ins > 2 ? (size_t)node->ins - 2 : 0;
	control_want_graph(node, "body", body, 2 + loop.carried, 1 + loop.carried, true);
	loop.scans = body->outputs.count - 1 - loop.carried;
	INVALID_IF((size_t)node->outs > loop.carried + loop.scans, " has %d outputs, the body makes %zu", node->outs,
	        loop.carried + loop.scans);
	FOR_FROM (i, 2, node->ins)
		INVALID_IF(!node->in[i], " lacks input %d", i);
	if (loop.carried && control_stack_growing(bodies, node))
		return true;
	loop.now = arena_new_array(h->arena, struct tensor *, 2 + loop.carried);
	COPY(loop.now, node->in, node->ins);
	if (!loop.now[1])
		loop.now[1] = holder_truth(h, true);
	loop.parts = arena_new_array(h->arena, struct tensor **, loop.scans + 1);
	struct repeating repeating;
	if (repeat_try(&repeating, bodies, node, repeat_loop, &loop))
		return true;
	loop.why = repeating.why;
	holder_find_steady(h);
	bodies->rounds++;
	while (begins(&loop, trips, loop.rounds))
		play(&loop, loop.rounds);
	FOR_WHILE (k, loop.unbounded, loop.carried)
		if (node->in[2 + k]->form) /* a list that nobody comes to know */
			control_refuse_loop(node);
	if (loop.unbounded) {
		bodies_take_back(bodies, h->graph, &before);
		return false;
	}
	struct tensor **none = NULL;
	if (loop.scans && !loop.rounds) {
		loop.now[0] = number_of_round(&loop, 0);
		none = holder_expand_none(h, 2 + (int)loop.carried, loop.now);
	}
	FOR (k, loop.carried)
		holder_out(h, (int)k, loop.now[2 + k]);
	FOR (k, loop.scans)
		if (node_has_out(node, (int)(loop.carried + k)))
			holder_out(h, (int)(loop.carried + k),
			        (asked_rounds(node, loop.carried + k) >= 0 && loop.ran ? counted_stack : assured)(&loop,
			                trips,
			                none ? holder_stack_none(h, none[1 + loop.carried + k], 0)
			                     : holder_stack(h, loop.rounds, loop.parts[k], 0)));
	bodies->rounds--;
	return true;
}

/* ---- what a loop stacked, where it had as many rounds as declared ---- */
void infer_rounds(struct node *node)
{
	infer_counts(node, 2, 2, 1);
	infer_scalar(node, 1);
	if (!attribute_int(node, "counted") || node->in[0]->rank < 1) {
		infer_output_like(node, 0, node->in[0]);
		return;
	}
	struct dim dims[MAX_RANK];
	memcpy(dims, node->in[0]->dims, sizeof dims);
	dims[0].count = node->out[0]->rank > 0 && node->out[0]->dims[0].count
	        ? node->out[0]->dims[0].count
	        : size_made(node, "SizeElement", 0, 1, &node->in[1]);
	infer_output(node, 0, node->in[0]->type, node->in[0]->rank, dims);
}

void define_rounds(struct definer *definer)
{
	int64_t rounds = node_int(NODE, "rounds", 0), most = attribute_int(NODE, "most");
	if (attribute_int(NODE, "counted")) { /* ingot.Fit asks */
		GIVE(0, IN(0));
		return;
	}
	expr_ref holds = BROADCAST(IN(1), 0, NULL);
	if (most) {
		definer_require(
		        definer, EXIT_LIMIT, 0, NULL, holds, "the loop goes on behind %" PRId64 " rounds", most);
		GIVE(0, IN(0));
		return;
	}
	holds = holds->type == DTYPE_BOOL ? holds : I_IS(holds, rounds);
	REQUIRE(holds, "the rounds at run time are not %" PRId64 ", as an output is declared to stack", rounds);
	GIVE(0, IN(0));
}
