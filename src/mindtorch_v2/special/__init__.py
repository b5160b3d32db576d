"""Special functions. Those that are functions of torch itself appear here under SciPy's names, too."""

from typing import TYPE_CHECKING

from .. import _functions
from .._C import _special

if TYPE_CHECKING:  # what the update below brings
    from .._C._special import *  # noqa: F403

_FROM_TORCH = {
    "digamma": "digamma", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "exp2": "exp2",
    "expit": "sigmoid", "expm1": "expm1", "gammainc": "igamma", "gammaincc": "igammac", "gammaln": "lgamma",
    "i0": "i0", "log1p": "log1p", "log_softmax": "log_softmax", "logit": "logit", "logsumexp": "logsumexp",
    "multigammaln": "mvlgamma", "polygamma": "polygamma", "psi": "digamma", "round": "round",
    "sinc": "sinc", "softmax": "softmax", "xlogy": "xlogy",
}  # fmt: skip

_own = {name: value for name, value in vars(_special).items() if not name.startswith("__")}
_borrowed = {
    name: getattr(_functions, source) for name, source in _FROM_TORCH.items() if hasattr(_functions, source)
}
globals().update(_own, **_borrowed, __all__=[*_own, *_borrowed])
