"""Looks at the machine code of the loops over elements: each must work on vectors.

    python vector_loops.py objdump library

That a loop is slow no test of numbers shows, and which loops a compiler puts into vectors changes from one version to
the next. Loops are found by the names of their templates; those of one element at a time are listed here.
"""

from __future__ import annotations

import itertools
import platform
import re
import subprocess
import sys

# Functors whose functions have loops of their own or many branches, and two that copy or fill memory by other means.
ONE_BY_ONE = {
    "airy_ai", "conj_physical", "digamma", "igamma", "igamma_slope", "igammac", "isreal", "lgamma",
    "modified_bessel_k0", "modified_bessel_k1", "polygamma", "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1", "xlog1py", "zeta",
}  # fmt: skip
LOOP = re.compile(r"(?:Loop|ReduceLoopsOf)<(?:\w+::)*(\w+?)(?:_op)?, (float|double)\b.*>::(\w+)\(")
# By machine: the functions that run on today's processors, and what an operand in a vector looks like.
MACHINES = {
    "x86_64": ({"wide", "widest", "rows_wide", "rows_widest", "columns_wide", "columns_widest"}, r"%[yz]mm"),
    "aarch64": ({"base", "rows", "columns"}, r"\bv\d+\.(?:4s|2d|16b|8h)"),
}


def main(objdump: str, library: str) -> int:
    levels, operand = MACHINES[platform.machine()]
    wide = re.compile(operand)
    seen = 0
    slow = []
    loop = None
    in_vectors = True
    with subprocess.Popen([objdump, "-d", "-C", library], stdout=subprocess.PIPE, text=True) as listing:
        assert listing.stdout is not None
        for line in itertools.chain(listing.stdout, [">:\n"]):
            if line.endswith(">:\n"):  # the next function
                if loop and not in_vectors:
                    slow.append(f"{loop[1]} of {loop[2]}, {loop[3]}")
                loop = LOOP.search(line)
                if loop and (loop[3] not in levels or loop[1] in ONE_BY_ONE):
                    loop = None
                seen += loop is not None
                in_vectors = False
            elif loop and not in_vectors:
                in_vectors = wide.search(line) is not None
    print(f"{seen} loops, {len(slow)} of them without vectors")
    for name in slow:
        print(" ", name)
    return listing.returncode != 0 or seen < 100 or bool(slow)  # none found would prove nothing


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
