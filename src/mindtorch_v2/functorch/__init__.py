"""What programs import as ``functorch``, which comes with PyTorch: ``torch.func`` under its older name."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

from .. import func as _func
from .._absent import names_of
from .._functorch import make_functional as _older
from .._functorch.make_functional import FunctionalModule as FunctionalModule
from .._functorch.make_functional import FunctionalModuleWithBuffers as FunctionalModuleWithBuffers
from ..version import __version__ as __version__


def _older_name(function: Callable[..., Any], instead: str) -> Callable[..., Any]:
    """The function; each call says what it is called today."""

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            f"`functorch.{function.__name__}` is deprecated as of PyTorch 2.0. Please use `{instead}` instead.",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    return called


vmap = _older_name(_func.vmap, "torch.vmap")
grad = _older_name(_func.grad, "torch.func.grad")
grad_and_value = _older_name(_func.grad_and_value, "torch.func.grad_and_value")
vjp = _older_name(_func.vjp, "torch.func.vjp")
jvp = _older_name(_func.jvp, "torch.func.jvp")
jacrev = _older_name(_func.jacrev, "torch.func.jacrev")
jacfwd = _older_name(_func.jacfwd, "torch.func.jacfwd")
functionalize = _older_name(_func.functionalize, "torch.func.functionalize")
hessian = _older_name(_func.hessian, "torch.func.hessian")
make_functional = _older_name(_older.make_functional, "torch.func.functional_call")
make_functional_with_buffers = _older_name(_older.make_functional_with_buffers, "torch.func.functional_call")
combine_state_for_ensemble = _older_name(_older.combine_state_for_ensemble, "torch.func.stack_module_state")

_absent_names = names_of(__name__)


def __getattr__(name: str) -> Any:
    if name != "make_fx":
        return _absent_names(name)
    from ..fx.experimental.proxy_tensor import make_fx  # graphs are loaded when somebody wants one

    return make_fx
