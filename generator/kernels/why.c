/* why.c: a product's tile, panels, groups and k blocks as text, with the facts and cycles that they follow from. */
#include "kernels/kernels.h"
#include <inttypes.h>

/* "48 KB", "1.5 MB". */
static void print_bytes(double bytes, struct text *out)
{
	const char *unit = bytes < 1024 ? "bytes" : bytes < 1 << 20 ? "KB" : "MB";
	double shown = bytes < 1024 ? bytes : bytes < 1 << 20 ? bytes / 1024 : bytes / (1 << 20);
	text_printf(out, "%.*f %s", shown < 10 && bytes >= 1024 && shown * 10 != (double)(int)shown * 10 ? 1 : 0, shown,
	        unit);
}

static void print_near(const struct target *target, enum near near, double bytes, struct text *out)
{
	text_printf(out, "%s: ", near_what(near));
	print_bytes(bytes, out);
	text_adds(out, bytes <= (double)near_bytes(target, near) ? " of the " : ", past the ");
	print_bytes((double)near_bytes(target, near), out);
	text_adds(out, " it may take");
}

/* The cheapest tile of another width; 0: there is none. */
static double next_best(const struct target *target, const struct contraction *c, const struct tiles_nest *n,
        int64_t vecs, int *rows_of, int *vecs_of)
{
	double least = 0;
	struct steps steps = contraction_terms(target, c);
	for (int v = 1; v <= VECS_MOST; v++)
		for (int r = 14; r >= 1; r--)
			if (v != c->tile.vecs
			        && tile_fits(
			                target->registers / product_registers(c->product) - c->product->temporaries,
			                n->rows, vecs, r, v)) {
				double cost = tile_cost(target, n->rows, vecs, r, v, &steps);
				if (least <= 0 || cost < least) {
					least = cost;
					*rows_of = r;
					*vecs_of = v;
				}
			}
	return least;
}

static void print_tile(const struct target *target, const struct contraction *c, struct text *out)
{
	struct tiles_nest n = contraction_nest(c);
	int rows = 0, width = 0, lanes = target->lanes;
	int64_t vecs = ceil_div(n.columns, lanes);
	struct steps steps = contraction_terms(target, c);
	struct reckoned step = tile_step(target, c->tile.rows, c->tile.vecs, &steps);
	double cycles = tile_cost(target, n.rows, vecs, c->tile.rows, c->tile.vecs, &steps),
	       other = next_best(target, c, &n, vecs, &rows, &width);
	if (product_is_matrix(c->product)) {
		text_printf(out,
		        "    why       %s makes %d x %d sums of %d terms at once; a step over k has %d words\n",
		        c->product->name, c->product->m, c->product->n, c->product->k * matrix_step(c), matrix_step(c));
		return;
	}
	text_printf(out,
	        "    why       a step of k takes %.1f cycles, by %s: %d x %d sums in vectors, %d multiply-adds a "
	        "cycle, %d bytes of loads; all tiles together %.0f",
	        step.cycles, step.bound, c->tile.rows, c->tile.vecs, target->units.pipes, target->units.load,
	        cycles * (double)(n.batches * n.outer));
	if (other > 0)
		text_printf(out, "; %d x %d would take %.2f of that", rows, width * lanes, other / cycles);
	text_addc(out, '\n');
}

static void print_scatter(const struct target *target, const struct contraction *c, struct text *out)
{
	struct tiles_nest n = contraction_nest(c);
	double part = c->k_block ? (double)c->k_block / (double)c->extents[c->column + 1] : 1,
	       panel = (double)n.terms * c->tile.vecs * target->lanes * product_bytes(c->product);
	text_adds(out, "              ");
	print_near(target, NEAR_panel_l1, panel * part, out);
	text_adds(out, "\n              ");
	if (c->b_mode == B_DIRECT)
		text_adds(out, "b is read where it lies");
	else
		print_near(target, near_of_panel(c), panel, out);
	if (contraction_k_blocked(c)) {
		text_printf(out, ", %" PRId64 " of its %" PRId64 " rows by all panels before the next\n              ",
		        c->k_block, n.terms);
		print_near(target, NEAR_waiting, 4. * (double)(n.rows * n.outer * n.columns), out);
	} else if (c->k_block)
		text_printf(out, "; so in k blocks of %" PRId64 " of %" PRId64 " terms",
		        (int64_t)((double)n.terms * part), n.terms);
	if (c->panels > 1 && !contraction_k_blocked(c)) {
		text_adds(out, "\n              ");
		print_near(target, near_of_group(c), (double)c->group * c->memory.a_block * part, out);
		text_printf(out, ", %" PRId64 " of %" PRId64 " blocks%s", c->group, c->row_blocks * n.outer,
		        c->staging.copied && !c->staging.a_rows ? ", copied so that they lie side by side" : "");
	}
	if (packs_rows_of_a(c)) {
		struct stage stage;
		stage_padded(c, packed_a_rows(c), &stage);
		text_adds(out, "\n              ");
		print_near(target, NEAR_packed_a_all, 4. * (double)stage.floats, out);
		text_adds(out, ": a row, copied whole");
	}
	if (c->memory.whole_rows) {
		text_adds(out, "\n              ");
		print_near(target, NEAR_results,
		        (double)(c->group * c->tile.rows * n.columns * product_bytes(c->product)), out);
	}
	if (c->taps)
		text_adds(out, "\n              taps that lie in the pads are left out");
	if (c->memory.next_lines)
		text_printf(out,
		        "\n              the next part of b is fetched meanwhile, %d line%s a turn of %d steps: "
		        "weights leave L2",
		        c->memory.next_lines, c->memory.next_lines == 1 ? "" : "s",
		        contraction_steps(c, target, c->tile.rows));
	text_addc(out, '\n');
}

void winograd_why(const struct target *target, const struct contraction *c, struct text *out)
{
	int64_t m = c->rewrite->m, ci = c->rewrite->w->extents[1], points = (m + 2) * (m + 2), lanes = target->lanes;
	int64_t tiles = ceil_div(c->root->extents[2], m) * ceil_div(c->root->extents[3], m),
	        each = ceil_div(tiles, c->group);
	struct reckoned step = tile_step(
	        target, c->tile.rows, c->tile.vecs, &(struct steps){ .terms = ci, .floats = true, .registers = 1 });
	if (c->block.warps)
		return;
	text_printf(out, "    why       a step of k takes %.1f cycles, by %s; ", step.cycles, step.bound);
	print_near(target, c->winograd.prefetch ? NEAR_tiles_far : NEAR_tiles,
	        4. * (double)points * (double)((ceil_div(ci, lanes) + c->tile.vecs) * lanes * each), out);
	text_printf(out, ", %" PRId64 " of %" PRId64 " tiles\n              ", each, tiles);
	if (c->panel.packed)
		print_near(target, NEAR_all, (double)scheduled(c->panel.packed)->bytes, out);
	else
		print_near(target, NEAR_filters,
		        4. * (double)(points * (ceil_div(c->rewrite->w->extents[0], lanes) * lanes) * ci), out);
	if (!c->panel.packed && !c->winograd.kept)
		text_printf(out, "; so %" PRId64 " of %" PRId64 " channels of a panel at a time", c->k_block, ci);
	text_addc(out, '\n');
}

/* What else blocks could be, for --tile. */
static void print_choices(const struct target *target, const struct contraction *c, struct text *out)
{
	struct block_choice all[BLOCK_CHOICES_MOST];
	int count = block_choices(target, c, all);
	text_adds(out, "    tiles     ");
	FOR (i, count)
		text_printf(out, "%dx%dx%d: %.0f, ", all[i].tile.rows, all[i].tile.columns, all[i].tile.terms,
		        all[i].cycles);
	text_printf(out, "warps: %.0f\n", c->block.apart);
}

void contraction_why(const struct target *target, const struct contraction *c, struct text *out)
{
	if (c->block.apart && c->block.warps)
		text_printf(out,
		        "    why       %.0f cycles of a multiprocessor by blocks, bound by %s; by warps alone %.0f "
		        "(%s)\n",
		        c->block.reckoned.cycles, c->block.reckoned.bound, c->block.apart, target->gpu->example);
	else if (c->block.apart && c->tile.forced)
		text_printf(out,
		        "    why       %.0f cycles of a multiprocessor by warps alone, which --tile says (%s)\n",
		        c->block.apart, target->gpu->example);
	else if (c->block.apart)
		text_printf(out,
		        "    why       %.0f cycles of a multiprocessor by warps alone; no block takes less than three "
		        "quarters of it (%s)\n",
		        c->block.apart, target->gpu->example);
	else if (!target->hides_latency && !target->options.small) {
		print_tile(target, c, out);
		if (target->lanes > 1)
			print_scatter(target, c, out);
	}
	if (c->block.apart)
		print_choices(target, c, out);
}
