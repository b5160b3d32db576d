"""Why a case of the speed map takes more than one and a half times PyTorch's time.

A reason holds for the rows whose names match its patterns (those of fnmatch) and, where it has one for cases, for cases
whose names match it. The first that fits counts. tests/test_speed_pages.py fails where a kept case has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

LIMIT = 1.5


@dataclass(frozen=True)
class Reason:
    rows: str  # patterns with spaces between them
    why: str
    cases: str = "*"

    def holds(self, row: str, case: str) -> bool:
        return any(fnmatchcase(row, pattern) for pattern in self.rows.split()) and fnmatchcase(
            case, self.cases
        )


REASONS: tuple[Reason, ...] = (
    Reason(
        "erfc erfinv special_ndtr special_ndtri",
        "numbers in two parts, whose products are exact: the result is within one and a half units in the last place",
    ),
    Reason("tan", "sine over cosine in double: the result is within one unit in the last place"),
    Reason("histogram* _chunk_cat", "composed in Python of a dozen operators"),
    Reason(
        "linalg_cross", "timed before it had a loop of its own, with which it takes a fifth of PyTorch's time"
    ),
    Reason("addr corrcoef kron", "composed of operators that each go through memory"),
    Reason(
        "var* std* linalg_vector_norm cumsum",
        "the gradient is composed of elementwise operators, with a value per row that is expanded first",
        cases="*backward",
    ),
    Reason(
        "linalg_vector_norm",
        "not understood: on two threads a quarter of PyTorch's time, and less than half of this",
    ),
    Reason(
        "bitwise_*",
        "not understood: the loop is vectors, and in the run before this one another of its kind was slow instead",
    ),
    Reason("pow.*", "the general power in float, whatever the exponent", cases="*bfloat16"),
    Reason(
        "conv* scaled_dot_product_attention mm",
        "PyTorch multiplies with AMX; of bfloat16 only products of large matrices do here",
        cases="*bfloat16",
    ),
    Reason("conv*", "oneDNN makes code for each shape while the program runs; our tiles are fixed"),
    Reason(
        "linalg_cholesky* linalg_inv*", "factors by halves over our own products; PyTorch has MKL's LAPACK"
    ),
    Reason("linalg_eig linalg_solve", "OpenBLAS's LAPACK; PyTorch has MKL's"),
    Reason(
        "sgn", "the gradient is zero: PyTorch returns a tensor of zeros without memory", cases="*backward"
    ),
    Reason(
        "cumsum",
        "timed before numbers that need no conversion were read where they lie, which takes half of the time",
    ),
    Reason(
        "grid_sampler_2d",
        "timed before inputs that are read once stayed where they are: two thirds of the time since",
    ),
    Reason("norm.*", "short rows of halves become floats first", cases="*bfloat16"),
    Reason("to.dtype", "not shown; a copy, as fast as PyTorch's in other cases of its kind"),
    Reason("amax amin", "not shown; presumably that each row of 40 numbers is folded by itself"),
    Reason(
        "zeros copy_ index_fill.* tensordot mm pdist cdist nll_loss cummax _conj_physical",
        "not shown; presumably whether each of 16 threads finds its part in its own cache",
    ),
)


def reason_for(row: str, case: str) -> str | None:
    return next((r.why for r in REASONS if r.holds(row, case)), None)
