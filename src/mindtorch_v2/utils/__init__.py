"""Tools around tensors and modules."""

from typing import TYPE_CHECKING, Any

from .._absent import names_of
from . import _contextlib as _contextlib
from . import dlpack as dlpack
from . import hooks as hooks
from ._swapping import swap_tensors as swap_tensors

if TYPE_CHECKING:
    from . import _pytree as _pytree
    from . import backend_registration as backend_registration
    from . import benchmark as benchmark
    from . import checkpoint as checkpoint
    from . import cpp_extension as cpp_extension
    from . import data as data
    from . import deterministic as deterministic
    from . import flop_counter as flop_counter
    from . import model_zoo as model_zoo
    from . import tensorboard as tensorboard
    from . import weak as weak
    from .backend_registration import (
        generate_methods_for_privateuse1_backend as generate_methods_for_privateuse1_backend,
    )
    from .backend_registration import (
        rename_privateuse1_backend as rename_privateuse1_backend,
    )

_LAZY_NAMES = {"generate_methods_for_privateuse1_backend", "rename_privateuse1_backend"}
_others = names_of(__name__)  # most of what other modules import is needed only there


def __getattr__(name: str) -> Any:
    if name in _LAZY_NAMES:
        return getattr(_others("backend_registration"), name)
    return _others(name)
