"""Single layers as networks: rows of kernels.py's form.  Inputs and outputs are n c h w, as a graph has them.

A layer's name is its network's, what it computes and its extents: resnet50_3x3s2_128_128_56 is a convolution of 3 by 3
with stride 2, from 128 to 128 channels, on images of 56 by 56.  Behind "run_time" the weights are inputs.
"""
# (kernel, stride, channels in, channels out, extent of the image); depthwise: channels out is 0.
RESNET50 = [
	(7, 2, 3, 64, 224),
	(1, 1, 64, 64, 56), (3, 1, 64, 64, 56), (1, 1, 64, 256, 56), (1, 1, 256, 64, 56),
	(1, 1, 256, 128, 56), (3, 2, 128, 128, 56), (1, 1, 128, 512, 28), (1, 2, 256, 512, 56), (1, 1, 512, 128, 28),
	(3, 1, 128, 128, 28),
	(1, 1, 512, 256, 28), (3, 2, 256, 256, 28), (1, 1, 256, 1024, 14), (1, 2, 512, 1024, 28), (1, 1, 1024, 256, 14),
	(3, 1, 256, 256, 14),
	(1, 1, 1024, 512, 14), (3, 2, 512, 512, 14), (1, 1, 512, 2048, 7), (1, 2, 1024, 2048, 14), (1, 1, 2048, 512, 7),
	(3, 1, 512, 512, 7),
]
MOBILENETV2 = [
	(3, 2, 3, 32, 224), (3, 1, 32, 0, 112), (1, 1, 32, 16, 112), (1, 1, 16, 96, 112), (3, 2, 96, 0, 112),
	(1, 1, 96, 24, 56), (1, 1, 24, 144, 56), (3, 1, 144, 0, 56), (1, 1, 144, 24, 56), (3, 2, 144, 0, 56),
	(1, 1, 144, 32, 28), (1, 1, 32, 192, 28), (3, 1, 192, 0, 28), (1, 1, 192, 32, 28), (3, 2, 192, 0, 28),
	(1, 1, 192, 64, 14), (1, 1, 64, 384, 14), (3, 1, 384, 0, 14), (1, 1, 384, 64, 14), (1, 1, 384, 96, 14),
	(1, 1, 96, 576, 14), (3, 1, 576, 0, 14), (1, 1, 576, 96, 14), (3, 2, 576, 0, 14), (1, 1, 576, 160, 7),
	(1, 1, 160, 960, 7), (3, 1, 960, 0, 7), (1, 1, 960, 160, 7), (1, 1, 960, 320, 7), (1, 1, 320, 1280, 7),
]
YOLO_NANO = [                     # images of 640 by 640: the backbone, the neck and the heads
	(3, 2, 3, 16, 640), (3, 2, 16, 32, 320), (1, 1, 32, 32, 160), (3, 1, 16, 16, 160), (1, 1, 48, 32, 160),
	(3, 2, 32, 64, 160), (1, 1, 64, 64, 80), (3, 1, 32, 32, 80), (1, 1, 128, 64, 80), (3, 2, 64, 128, 80),
	(1, 1, 128, 128, 40), (3, 1, 64, 64, 40), (1, 1, 256, 128, 40), (3, 2, 128, 256, 40), (1, 1, 256, 256, 20),
	(3, 1, 128, 128, 20), (1, 1, 384, 256, 20), (1, 1, 512, 256, 20), (1, 1, 384, 128, 40), (1, 1, 192, 64, 80),
	(3, 1, 64, 64, 80), (3, 1, 64, 80, 80), (3, 1, 80, 80, 80), (1, 1, 80, 80, 80), (3, 1, 128, 64, 40),
	(3, 1, 256, 80, 20),
]
# With the batch norm and the relu before: the first, the middle and the last layer of each dense block, and the transitions.
DENSENET121 = [
	(1, 1, 64, 128, 56), (1, 1, 224, 128, 56), (3, 1, 128, 32, 56), (1, 1, 256, 128, 56),
	(1, 1, 128, 128, 28), (1, 1, 320, 128, 28), (1, 1, 480, 128, 28), (3, 1, 128, 32, 28), (1, 1, 512, 256, 28),
	(1, 1, 256, 128, 14), (1, 1, 640, 128, 14), (1, 1, 992, 128, 14), (3, 1, 128, 32, 14), (1, 1, 1024, 512, 14),
	(1, 1, 512, 128, 7), (1, 1, 992, 128, 7), (3, 1, 128, 32, 7),
]
BERT = [(768, 768), (768, 3072), (3072, 768)]
TOKENS = (1, 16, 128)


def convolution(network, layer, before=False):
	"""The row of a convolution with a bias; before: batch norm and relu stand there."""
	size, stride, inputs, outputs, extent = layer
	depthwise, outputs = not outputs, outputs or inputs
	name = "%s_%s%dx%ds%d_%d_%d_%d" % (network, "dw" * depthwise, size, size, stride, inputs, outputs, extent)
	after = (extent + stride - 1) // stride
	pad = size // 2
	norm = "norm = BatchNormalization (x, scale, shift, mean, variance)  image = Relu (norm)\n\t\t" if before else ""
	parameters = ", ".join("float[%d] %s" % (inputs, one) for one in ("scale", "shift", "mean", "variance"))
	text = """(float[1,%d,%d,%d] x, float[%d,%d,%d,%d] weight, float[%d] bias%s) => (float[1,%d,%d,%d] y) {
		%sy = Conv <group = %d, kernel_shape = [%d, %d], strides = [%d, %d], pads = [%d, %d, %d, %d]> (%s, weight, bias) }""" % (
		inputs, extent, extent, outputs, 1 if depthwise else inputs, size, size, outputs, ", " + parameters if before else "", outputs, after, after,
		norm, inputs if depthwise else 1, size, size, stride, stride, pad, pad, pad, pad, "image" if before else "x")
	return name, text, ["weight", "bias"] + (["scale", "shift", "mean", "variance"] if before else []), None, []


def product(tokens, layer):
	inputs, outputs = layer
	return ("bert_%d_%d_%d" % (tokens, inputs, outputs),
	        "(float[%d,%d] x, float[%d,%d] weight, float[%d] bias) => (float[%d,%d] y) { sums = MatMul (x, weight)  y = Add (sums, bias) }"
	        % (tokens, inputs, inputs, outputs, outputs, tokens, outputs), ["weight", "bias"], None, [])


def at_run_time(row):
	name, text, constants, onednn, options = row
	return name + "_run_time", text, [one for one in constants if one not in ("weight", "bias")], onednn, options


def layers():
	"""Every row, once each: two networks may have the same layer."""
	rows, seen = [], set()
	for network, table in ("resnet50", RESNET50), ("mobilenetv2", MOBILENETV2), ("yolo", YOLO_NANO):
		for layer in table:
			if layer not in seen:
				rows.append(convolution(network, layer))
			seen.add(layer)
	rows += [convolution("densenet121", layer, before=True) for layer in DENSENET121]
	rows += [product(tokens, layer) for tokens in TOKENS for layer in BERT]
	return rows + [at_run_time(row) for row in rows]
