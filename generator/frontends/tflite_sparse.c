/* tflite_sparse.c: a sparse constant -> all of its elements.  Its dimensions, then those of its blocks, are walked in
 * the order of traversal; of a dense one every index is there, of a compressed one those that its segments list. */
#include "frontends/tflite.h"

enum { SPARSE_MOST = 1 << 28, DIMS = 2 * MAX_RANK };

struct sparse {
	const struct table *table;
	const struct tensor *tensor;
	int count, order[DIMS]; /* dimensions in the order of traversal, those behind the rank of blocks */
	struct {
		bool compressed;
		int64_t size;
		struct vector segments, indices;
	} dims[DIMS];                                 /* in that order */
	int64_t block_of[DIMS], at[DIMS], size[DIMS]; /* by dimension: whose block it is, index, size of a block */
	size_t width, next, values;
	const char *from;
	char *to;
};

/* Vectors of int32, uint16 or uint8, by the number of the union SparseIndexVector. */
static struct vector index_vector(const struct sparse *s, const struct table *dim, int field)
{
	static const size_t widths[] = { 0, 4, 2, 1 };
	int64_t kind = table_int(dim, field, 1, 0);
	table_must(s->table, kind > 0 && kind < 4, "a compressed dimension lacks its segments or indices");
	struct table holder = table_table(dim, field + 1, "SparseIndexVector");
	return table_vector(&holder, 0, widths[kind]);
}

static int64_t number(const struct sparse *s, const struct vector *v, int64_t i)
{
	table_must(s->table, i >= 0 && (size_t)i < v->count, "a segment lies outside of its dimension");
	return vector_int(v, (size_t)i) & (v->width == 1 ? UINT8_MAX : v->width == 2 ? UINT16_MAX : INT64_C(-1));
}

static void read_dim(struct sparse *s, struct table dim, int k)
{
	bool compressed = s->dims[k].compressed = table_int(&dim, 0, 1, 0) != 0;
	s->dims[k].size = s->size[s->order[k]] = table_int(&dim, 1, 4, 0);
	if (compressed) {
		s->dims[k].segments = index_vector(s, &dim, 2);
		s->dims[k].indices = index_vector(s, &dim, 4);
	}
	table_must(s->table, compressed || s->dims[k].size > 0, "a dense dimension has no size");
	table_must(s->table, !compressed || s->order[k] < s->tensor->rank, "a block is compressed");
}

static void read_dims(struct sparse *s)
{
	struct vector order = table_vector(s->table, 0, 4), map = table_vector(s->table, 1, 4);
	struct vector dims = table_vector(s->table, 2, 4);
	size_t rank = (size_t)s->tensor->rank;
	bool seen[DIMS] = { 0 };
	table_must(s->table, order.count == dims.count && order.count == rank + map.count && order.count <= DIMS,
	        "its order of traversal does not fit its dimensions");
	s->count = (int)order.count;
	FOR_ALL (k, order) {
		int64_t at = vector_int(&order, k), of = k < rank ? -1 : vector_int(&map, k - rank);
		table_must(s->table, at >= 0 && at < s->count && !seen[at], "its order of traversal is no permutation");
		table_must(s->table, k < rank || (of >= 0 && of < (int64_t)rank),
		        "a block is of a dimension that is not there");
		seen[at] = true;
		s->order[k] = (int)at;
		s->block_of[k] = of;
		read_dim(s, vector_table(&dims, k, "DimensionMetadata"), (int)k);
	}
	FOR (k, s->count) {
		int64_t left = s->order[k] < (int)rank ? s->tensor->dims[s->order[k]].extent : 0;
		for (int b = (int)rank; b < s->count; b++)
			left = s->block_of[b] != s->order[k] ? left : left % s->size[b] ? -1 : left / s->size[b];
		table_must(s->table, !left || s->dims[k].compressed ? left >= 0 : left == s->dims[k].size,
		        "a dimension has another size than its tensor's");
	}
}

static void put(struct sparse *s)
{
	int64_t flat = 0;
	FOR (d, s->tensor->rank) {
		int64_t at = s->at[d], extent = s->tensor->dims[d].extent;
		for (int k = s->tensor->rank; k < s->count && at >= 0 && at < extent; k++)
			if (s->block_of[k] == d)
				at = at * s->size[k] + s->at[k];
		table_must(s->table, at >= 0 && at < extent, "an index lies outside of its shape");
		flat = flat * extent + at;
	}
	table_must(s->table, s->next < s->values, "it has fewer values than indices");
	memcpy(s->to + (size_t)flat * s->width, s->from + s->next++ * s->width, s->width);
}

/* `parent`: which of the indices of the dimensions before is the one that is open. */
static void walk(struct sparse *s, int k, int64_t parent)
{
	if (k == s->count) {
		put(s);
		return;
	}
	const bool compressed = s->dims[k].compressed;
	int64_t from = compressed ? number(s, &s->dims[k].segments, parent) : 0;
	int64_t to = compressed ? number(s, &s->dims[k].segments, parent + 1) : s->dims[k].size;
	table_must(s->table, from >= 0 && from <= to, "a segment lies outside of its dimension");
	for (int64_t i = from; i < to; i++) {
		s->at[s->order[k]] = compressed ? number(s, &s->dims[k].indices, i) : i;
		walk(s, k + 1, compressed ? i : parent * s->dims[k].size + i);
	}
}

struct bytes tfl_dense(const struct table *sparsity, const struct tensor *tensor, struct bytes values)
{
	struct build *build = sparsity->flat->build;
	struct sparse s = { .table = sparsity, .tensor = tensor, .from = values.at };
	size_t bytes;
	table_must(sparsity, tensor->rank > 0 && dtypes[tensor->type].bits >= 8,
	        "a sparse scalar, or one of less than bytes");
	s.width = (size_t)dtypes[tensor->type].bits / 8;
	s.values = values.count / s.width;
	if (!size_mul((size_t)tensor_elements(build, tensor), s.width, &bytes) || bytes > SPARSE_MOST)
		fail(build, EXIT_LIMIT, table_where(sparsity), "a sparse constant that would fill more than %d bytes",
		        SPARSE_MOST);
	read_dims(&s);
	s.to = arena_alloc(build->arena, bytes);
	walk(&s, 0, 0);
	table_must(sparsity, s.next == s.values, "it has more values than indices");
	return (struct bytes){ s.to, bytes };
}
