/* counted.h: each family of operators that thinks of dims that are bounds, of which a call or data say how many are there.  Any other is refused where it meets one.
 *
 *     C(family, least, come, go)    CS(family, least, come, go)
 *
 * least: as many inputs, from the first on, a node cannot be without (ANY: all that it has); inference refuses one that lacks them.
 * come: come_COME, before the node is inferred: refuses what is not thought of, and puts in front of the node what makes anything else right behind the counts.
 * go: go_GO, behind it: the outputs' dims get their counts.  All stand in ops/counts*.c.
 * CS: input 1 may say sizes, so that outputs of data that is whole have such dims, too.  No include guard. */

/* element by element */
C(unary,       1, any, like)
C(cast,        1, any, like)
C(cast_like,   1, any, like)
C(identity,    1, any, like)
C(binary,      1, beside, beside)
C(variadic,    1, beside, beside)
C(mean,        1, beside, beside)
C(bitwise,     1, beside, beside)
C(bitwise_not, 1, beside, beside)
C(shift,       1, beside, beside)
C(where,       1, beside, beside)
C(clip,        1, beside, beside)
C(gelu,        1, beside, beside)
C(mod,         1, beside, beside)
C(power,       1, beside, beside)
C(prelu,       1, beside, beside)
C(logical,     1, beside, beside)
C(logical_not, 1, beside, beside)
C(comparison,  1, beside, beside)
C(test,        1, beside, beside)
C(quantise,    2, scaled, like)
C(dequantise,  2, scaled, like)
C(dropout,     1, dropout, like)
C(batch_normalization, 1, batch_normalization, handed)

/* elsewhere */
C(transpose, 1, any, move)
C(unsqueeze, 1, any, move)
C(squeeze,   1, any, move)
C(there,     1, any, move)
C(agree,     1, any, move)
C(fit,       1, any, move)
CS(split,    1, split, handed)
C(slice,     1, any, slice)
CS(reshape,  1, any, reshape)
C(flatten,   1, any, flatten)
C(expand,    1, any, expand)
C(concat,    1, concat, concat)
C(pad,       1, pad, pad)
C(resize,    1, resize, resize)
C(tile,      1, first, handed)
C(trilu,     1, first, like)
C(select,    1, any, handed)
C(shape,     1, any, handed)
C(size,      1, any, handed)

/* places that are data */
C(gather,          2, gather, gather)
C(gather_elements, 2, gather_elements, gather_elements)
C(gather_nd,       2, gather_nd, gather_nd)
C(one_hot,         1, one_hot, one_hot)
CS(top_k,          1, first, handed)

/* sums, and what else goes along an axis */
C(reduce,              1, reduce, reduce)
C(arg_extreme,         1, reduce, reduce)
C(running,             1, first, like)
C(softmax,             1, softmax, like)
C(log_softmax,         1, softmax, like)
C(layer_normalization, 1, layer_normalization, like)
C(lrn,                 1, lrn, like)
C(matmul,              2, matmul, matmul)
C(matmul_integer,      2, matmul_integer, matmul)
C(gemm,                2, gemm, handed)
C(einsum,            ANY, einsum, einsum)
C(lstm,                1, recurrent, handed)
C(gru,                 1, recurrent, handed)
C(rnn,                 1, recurrent, handed)

/* windows */
C(convolution,            2, convolution, convolution)
C(convolution_integer,    2, convolution_integer, convolution)
C(convolution_transposed, 2, convolution_transposed, convolution_transposed)
C(max_pool,               1, max_pool, pool)
C(average_pool,           1, pool, pool)
C(lp_pool,                1, pool, pool)
C(global_max_pool,        1, global_max_pool, global_pool)
C(global_average_pool,    1, global_pool, global_pool)
C(global_lp_pool,         1, global_pool, global_pool)
