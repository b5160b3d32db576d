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
        "erfc erfinv special_ndtr special_ndtri special_erfcx special_log_ndtr",
        "computed in double: the result is within one unit in the last place",
    ),
    Reason("tan", "sine over cosine in double: the result is within one unit in the last place"),
    Reason("slice.Tensor", "called through `torch.ops`, which matches arguments with the schema in Python"),
    Reason("histogram* _chunk_cat", "composed in Python of a dozen operators"),
    Reason(
        "bincount histc",
        "composed: the extrema, a table of zeros and `index_add_` pass over memory one by one",
    ),
    Reason("linalg_cross cross addr corrcoef", "composed of operators that each go through memory"),
    Reason(
        "var* std* linalg_vector_norm cumsum",
        "the gradient is composed of elementwise operators, with a value per row that is expanded first",
        cases="*backward",
    ),
    Reason("index_select", "the gradient is an `index_add_` into zeros", cases="*backward"),
    Reason(
        "bitwise_left_shift* bitwise_right_shift*",
        "not understood: the loop is vectors, and as fast as PyTorch's on 16 threads",
    ),
    Reason("pow.*", "the general power in float, whatever the exponent", cases="*bfloat16"),
    Reason("conv*", "oneDNN makes code for each shape while the program runs; our tiles are fixed"),
    Reason("fft_* stft", "MKL has code for each length; ours is one pass for each factor"),
    Reason(
        "cross_entropy_loss",
        "the gradients of `log_softmax` and `nll_loss` each go through memory",
        "*backward",
    ),
    Reason("linalg_*", "OpenBLAS's LAPACK; PyTorch has MKL's"),
    Reason(
        "prod nansum abs square relu6 rot90 embedding to.dtype adaptive_avg_pool2d batch_norm addmv tensordot",
        "not shown; presumably whether each of 16 threads finds its part in its own cache",
    ),
)


def reason_for(row: str, case: str) -> str | None:
    return next((r.why for r in REASONS if r.holds(row, case)), None)
