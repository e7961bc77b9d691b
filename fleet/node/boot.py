"""First words of every program on a node: read a length and a compressed text from standard input, and run it.

Sent as one line in the argument of `python3 -c` (bootstrap.py makes it one), so the node's disk is never touched. It
reads with os.read, exactly as many bytes as announced: what follows on standard input belongs to the program.
"""

import os
import sys
import zlib


def read_exactly(count):
    """`count` bytes of standard input; the process ends quietly where the other side has gone."""
    data = b""
    while len(data) < count:
        piece = os.read(0, count - len(data))
        if not piece:
            os._exit(0)
        data += piece
    return data


if sys.version_info < (3, 6):
    sys.exit("needs Python 3.6 or newer, found " + sys.version.split()[0])
exec(compile(zlib.decompress(read_exactly(int(read_exactly(8)))), "lanescope", "exec"), {"__name__": "__main__"})
