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
    Reason("log2 log10", "e ln 2 and the mantissa are added in two parts, for one unit in the last place"),
    Reason("tan", "sine over cosine: the result is within one unit in the last place"),
    Reason("histogram* _chunk_cat", "composed in Python of a dozen operators"),
    Reason("addr corrcoef kron", "composed of operators that each go through memory"),
    Reason(
        "linalg_vector_norm",
        "four operators that each go through memory; no power of a large number overflows",
        cases="*backward",
    ),
    Reason(
        "var* std* cumsum",
        "the gradient is composed of elementwise operators, with a value per row that is expanded first",
        cases="*backward",
    ),
    Reason(
        "scaled_dot_product_attention",
        "PyTorch multiplies with AMX; of bfloat16 products and convolutions do here",
        cases="*bfloat16",
    ),
    Reason("conv*", "oneDNN makes code for each shape while the program runs; our tiles are fixed"),
    Reason(
        "linalg_cholesky* linalg_det linalg_inv* linalg_lu* linalg_qr linalg_slogdet linalg_solve*",
        "factors by halves over our own products; PyTorch has MKL's LAPACK",
    ),
    Reason("linalg_eig linalg_eigh linalg_svd", "OpenBLAS's LAPACK; PyTorch has MKL's"),
    Reason("fft_*", "passes for any length; MKL, which PyTorch calls, has code for each"),
    Reason("tanh", "1 - 2 / (e + 1) and a polynomial, both for every element; PyTorch calls MKL's"),
    Reason(
        "sgn", "the gradient is zero: PyTorch returns a tensor of zeros without memory", cases="*backward"
    ),
    Reason(
        "special_*_polynomial_*",
        "not understood: the same recurrence takes half of PyTorch's time in float, and in double in other runs",
        cases="*float64",
    ),
    Reason(
        "bitwise_left_shift.* to.dtype",
        "not understood: another machine of this kind gave 0.7 and 1.0 for the same loops",
    ),
    Reason(
        "full zeros copy_ index_fill.* tensordot pdist cdist nll_loss cummax _conj_physical",
        "not shown; presumably whether each of 16 threads finds its part in its own cache",
    ),
)


def reason_for(row: str, case: str) -> str | None:
    return next((r.why for r in REASONS if r.holds(row, case)), None)
