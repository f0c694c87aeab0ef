/* tflite_sparse.c: a sparse constant -> all of its elements.  Its dimensions, then those of its blocks, are walked in
 * the order of traversal; of a dense one every index is there, of a compressed one those that its segments list. */
#include "frontends/tflite.h"

enum { SPARSE_MOST = 1 << 28, DIMS = 2 * MAX_RANK };

struct dim_walk {
	bool compressed;
	int64_t size;
	struct vector segments, indices;
	int segment_width, index_width;
};
struct sparse {
	const struct table *table;
	const struct tfl_tensor *tensor;
	int64_t block[MAX_RANK]; /* extents of a block; 1 where a dimension has none */
	int order[DIMS];         /* dimensions in the order of traversal … */
	int block_of[DIMS];      /* … of which those behind the rank are of blocks: of which dimension */
	struct dim_walk dims[DIMS];
	int count;
	size_t width, next, values;
	const char *from;
	char *to;
	int64_t at[DIMS], size[DIMS]; /* by dimension: index, and size where it is dense */
};

static void must(const struct sparse *s, bool right, const char *what)
{
	if (!right)
		fail(s->table->flat->build, EXIT_INVALID, table_where(s->table), "%s", what);
}

/* Vectors of int32, uint16 or uint8, by the number of the union SparseIndexVector. */
static struct vector index_vector(const struct sparse *s, const struct table *dim, int field, int *width)
{
	static const int widths[] = { 0, 4, 2, 1 };
	int64_t kind = table_byte(dim, field, 0);
	must(s, kind > 0 && kind < 4, "a compressed dimension lacks its segments or indices");
	*width = widths[kind];
	struct table holder = table_table(dim, field + 1, "SparseIndexVector");
	return table_vector(&holder, 0, (size_t)*width);
}

static int64_t number(const struct sparse *s, const struct vector *v, int width, int64_t i)
{
	int32_t value = 0;
	must(s, i >= 0 && (size_t)i < v->count, "a segment lies outside of its dimension");
	memcpy(&value, v->flat->at + v->at + (size_t)i * (size_t)width, (size_t)width);
	return value;
}

static void read_dims(struct sparse *s)
{
	struct vector order = table_vector(s->table, 0, 4), map = table_vector(s->table, 1, 4),
	              dims = table_vector(s->table, 2, 4);
	int rank = s->tensor->rank;
	bool seen[DIMS] = { 0 };
	must(s, order.count == dims.count && order.count == (size_t)rank + map.count && order.count <= DIMS,
	        "its order of traversal does not fit its dimensions");
	s->count = (int)order.count;
	for (int k = 0; k < rank; k++)
		s->block[k] = 1;
	for (int k = 0; k < s->count; k++) {
		int64_t at = vector_int(&order, (size_t)k);
		must(s, at >= 0 && at < s->count && !seen[at], "its order of traversal is no permutation");
		seen[at] = true;
		s->order[k] = (int)at;
		if (k >= rank) {
			int64_t of = vector_int(&map, (size_t)(k - rank));
			must(s, of >= 0 && of < rank, "a block is of a dimension that is not there");
			s->block_of[k] = (int)of;
		}
	}
	for (int k = 0; k < s->count; k++) {
		struct table dim = vector_table(&dims, (size_t)k, "DimensionMetadata");
		struct dim_walk *d = &s->dims[k];
		d->compressed = table_byte(&dim, 0, 0) != 0;
		d->size = table_int(&dim, 1, 0);
		if (d->compressed) {
			d->segments = index_vector(s, &dim, 2, &d->segment_width);
			d->indices = index_vector(s, &dim, 4, &d->index_width);
		}
		must(s, d->compressed || d->size > 0, "a dense dimension has no size");
		if (s->order[k] >= rank) {
			must(s, !d->compressed, "a block is compressed");
			int of = s->block_of[s->order[k]];
			s->size[s->order[k]] = d->size;
			s->block[of] *= d->size;
			must(s, s->block[of] <= s->tensor->extents[of], "a block is larger than its dimension");
		}
	}
	for (int k = 0; k < s->count; k++) {
		int of = s->order[k];
		must(s, of >= rank || s->dims[k].compressed || s->dims[k].size * s->block[of] == s->tensor->extents[of],
		        "a dense dimension has another size than its tensor's");
	}
}

static void put(struct sparse *s)
{
	int64_t flat = 0;
	for (int d = 0; d < s->tensor->rank; d++) {
		int64_t at = s->at[d];
		for (int k = s->tensor->rank; k < s->count; k++)
			if (s->block_of[k] == d)
				at = at * s->size[k] + s->at[k];
		must(s, at >= 0 && at < s->tensor->extents[d], "an index lies outside of its shape");
		flat = flat * s->tensor->extents[d] + at;
	}
	must(s, s->next < s->values, "it has fewer values than indices");
	memcpy(s->to + (size_t)flat * s->width, s->from + s->next++ * s->width, s->width);
}

/* `parent`: which of the indices of the dimensions before is the one that is open. */
static void walk(struct sparse *s, int k, int64_t parent)
{
	if (k == s->count) {
		put(s);
		return;
	}
	struct dim_walk *d = &s->dims[k];
	int64_t from = 0, to = d->size;
	if (d->compressed) {
		from = number(s, &d->segments, d->segment_width, parent);
		to = number(s, &d->segments, d->segment_width, parent + 1);
		must(s, from >= 0 && from <= to && (size_t)to <= d->indices.count,
		        "a segment lies outside of its dimension");
	}
	for (int64_t i = from; i < to; i++) {
		s->at[s->order[k]] = d->compressed ? number(s, &d->indices, d->index_width, i) : i;
		walk(s, k + 1, d->compressed ? i : parent * d->size + i);
	}
}

struct bytes tfl_dense(const struct table *sparsity, const struct tfl_tensor *tensor, struct bytes values)
{
	struct build *build = sparsity->flat->build;
	struct sparse s = { .table = sparsity, .tensor = tensor, .from = values.at };
	struct tensor shape = { .rank = tensor->rank };
	for (int i = 0; i < tensor->rank; i++)
		shape.dims[i].extent = tensor->extents[i];
	size_t bytes;
	int bits = dtypes[tensor->type].bits;
	must(&s, tensor->rank > 0 && bits >= 8, "a sparse scalar, or one of less than bytes");
	s.width = (size_t)bits / 8;
	s.values = values.count / s.width;
	if (!size_mul((size_t)tensor_elements(build, &shape), s.width, &bytes) || bytes > SPARSE_MOST)
		fail(build, EXIT_LIMIT, table_where(sparsity), "a sparse constant that would fill more than %d bytes",
		        SPARSE_MOST);
	read_dims(&s);
	s.to = arena_alloc(build->arena, bytes);
	walk(&s, 0, 0);
	must(&s, s.next == s.values, "it has more values than indices");
	return (struct bytes){ s.to, bytes };
}
