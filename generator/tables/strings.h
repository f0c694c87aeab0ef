/* clang-format off */
/* strings.h: the ops that take strings.  S(name, least and most inputs, most outputs, which of those are strings):
 * templates/onnx/strings/NAME.jinja says them over bytes (ops/strings.c).  No include guard: define S, include,
 * undefine. */
S("Identity",  1, 1, 1, STRINGS)
S("Reshape",   2, 2, 1, STRINGS)
S("Squeeze",   1, 2, 1, STRINGS)
S("Unsqueeze", 1, 2, 1, STRINGS)
S("Flatten",   1, 1, 1, STRINGS)
S("Transpose", 1, 1, 1, STRINGS)
S("Concat",    1, ANY, 1, STRINGS)
S("Gather",    2, 2, 1, STRINGS)
S("Slice",     1, 5, 1, STRINGS)
S("Expand",    2, 2, 1, STRINGS)
S("Split",     1, 2, ANY, STRINGS)
S("Where",     3, 3, 1, STRINGS)
S("Equal",     2, 2, 1, NUMBERS)
S("Shape",     1, 1, 1, NUMBERS)
S("Size",      1, 1, 1, NUMBERS)
S("StringConcat",     2, 2, 1, STRINGS)
S("StringNormalizer", 1, 1, 1, STRINGS)
S("StringSplit",      1, 1, 2, FIRST)
S("RegexFullMatch",   1, 1, 1, NUMBERS)
S("TfIdfVectorizer",  1, 1, 1, NUMBERS)
