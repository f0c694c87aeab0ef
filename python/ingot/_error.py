"""What goes wrong, as one exception."""
import re

_NODE = re.compile(r"node (#\d+|.+?) \(([^()\s]+)\)")


class Error(Exception):
    """What ingot's program says, with its exit code: 2 wrong use, 3 a broken model, 4 a model that ingot cannot run, 5 something that this system lacks, 6 too
    large.  node and op: the node that the message names, and its operator; else None."""
    def __init__(self, code, message):
        super().__init__(message)
        found = _NODE.search(message)
        self.code, self.message = code, message
        self.node, self.op = found.groups() if found else (None, None)
