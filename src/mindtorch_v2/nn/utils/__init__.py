"""What programs do with modules and parameters besides running them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..._absent import names_of
from . import rnn as rnn
from .clip_grad import (
    clip_grad_norm as clip_grad_norm,
)
from .clip_grad import (
    clip_grad_norm_ as clip_grad_norm_,
)
from .clip_grad import (
    clip_grad_value_ as clip_grad_value_,
)
from .clip_grad import (
    clip_grads_with_norm_ as clip_grads_with_norm_,
)
from .clip_grad import (
    get_total_norm as get_total_norm,
)
from .convert_parameters import parameters_to_vector as parameters_to_vector
from .convert_parameters import vector_to_parameters as vector_to_parameters
from .spectral_norm import remove_spectral_norm as remove_spectral_norm
from .spectral_norm import spectral_norm as spectral_norm
from .weight_norm import remove_weight_norm as remove_weight_norm
from .weight_norm import weight_norm as weight_norm

if TYPE_CHECKING:
    from . import fusion as fusion
    from . import init as init
    from . import memory_format as memory_format
    from . import parametrizations as parametrizations
    from . import parametrize as parametrize
    from . import prune as prune
    from . import stateless as stateless

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "stateless",
    "vector_to_parameters",
    "weight_norm",
]

# What few programs need is loaded when it is asked for: the name, and the file that has it.
_LATER = {
    "convert_conv2d_weight_memory_format": "memory_format",
    "convert_conv3d_weight_memory_format": "memory_format",
    "fuse_conv_bn_eval": "fusion",
    "fuse_conv_bn_weights": "fusion",
    "fuse_linear_bn_eval": "fusion",
    "fuse_linear_bn_weights": "fusion",
    "skip_init": "init",
}
_others = names_of(__name__)


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    return _others(name)
