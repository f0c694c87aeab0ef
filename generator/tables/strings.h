/* clang-format off */
/* strings.h: the ops that take strings.  S(name, which outputs are strings): templates/onnx/strings/NAME.jinja says them
 * over bytes (ops/strings.c).  No include guard: define S, include, undefine. */
S("Identity",  STRINGS)
S("Reshape",   STRINGS)
S("Squeeze",   STRINGS)
S("Unsqueeze", STRINGS)
S("Flatten",   STRINGS)
S("Transpose", STRINGS)
S("Concat",    STRINGS)
S("Gather",    STRINGS)
S("Slice",     STRINGS)
S("Expand",    STRINGS)
S("Split",     STRINGS)
S("Where",     STRINGS)
S("Equal",     NUMBERS)
S("Shape",     NUMBERS)
S("Size",      NUMBERS)
