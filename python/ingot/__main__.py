"""python -m ingot, and the command `ingot` of the wheel: the program."""
import os
import sys

from ._error import Error
from ._library import program


def main():
    try:
        path = program()
    except Error as why:
        print(f"ingot: {why}", file=sys.stderr)
        return why.code
    os.execv(path, ["ingot", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
