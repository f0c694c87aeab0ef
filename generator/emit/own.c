/* own.c: what the template of a kernel of the user's own is given: kernel, target, blocks; inputs and outputs, each
 * {present, name (of the pointer), c (its C type), type, rank, dims, size, value}; dims, the extents that
 * onnx/NAME.shape names; and of what ops/text.c gives a text, what `told` lists. */
#include "emit/emit.h"

static struct value tensor_value(
        struct emit *emit, const struct kernel *kernel, struct value described, const struct definition *of)
{
	static const char *const members[] = { "present", "type", "rank", "dims", "size", "value" };
	struct value value = value_dict(emit->arena);
	FOR (i, COUNT(members))
		value_set(value, members[i], value_dict_get(described, members[i]));
	value_set(value, "name", of ? value_string(emit_buffer((void *)(uintptr_t)kernel, of)) : value_none(), "c",
	        of ? value_string(dtypes[of->type].c) : value_none());
	return value;
}

static const char *const told[] = { "attribute", "opset", "dims", "want", "able", "axis_of", "utf8" };

void own_emit(struct emit *emit, const struct kernel *kernel, struct text *out)
{
	const struct own_tensors *tensors = kernel->detail;
	const struct own *own = kernel->root->loop.repeat->own;
	struct value globals = value_dict(emit->arena), inputs = value_list(emit->arena),
	             outputs = value_list(emit->arena);
	for (int i = 0, n = 0; i < own->node->ins; i++)
		value_list_add(inputs,
		        tensor_value(emit, kernel, value_at(value_dict_get(*own->globals, "inputs"), (size_t)i),
		                own->node->in[i] ? tensors->operand[n++]->of : NULL));
	for (int k = 0, n = 0; k < own->node->outs; k++)
		value_list_add(outputs,
		        tensor_value(emit, kernel, value_at(value_dict_get(*own->globals, "outputs"), (size_t)k),
		                own->node->out[k] ? tensors->results[n++] : NULL));
	FOR (i, COUNT(told))
		value_set(globals, told[i], value_dict_get(*own->globals, told[i]));
	value_set(globals, "inputs", inputs, "outputs", outputs, "blocks", kernel->blocks, "kernel",
	        emit_kernel_value(emit, kernel), "target", emit_target_value(emit));
	emit_render(emit, kernel, globals, out);
}
