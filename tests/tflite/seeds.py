#!/usr/bin/env python3
"""seeds.py FOLDER: a small TensorFlow Lite file of each operator and type, for tests/fuzz."""
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import layers

layers.learn(os.path.join(HERE, "..", "..", "generator", "tables", "tflite.h"))
for name in layers.CODES:
    for kind, draw in layers.draw(name).items():
        with open(os.path.join(sys.argv[1], "%s-%s" % (name, kind.replace(" ", "-"))), "wb") as f:
            f.write(draw(np.random.default_rng(1)).bytes())
