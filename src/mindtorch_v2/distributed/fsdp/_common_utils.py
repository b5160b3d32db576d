"""Names of parameters without what wrappers put into them."""

from __future__ import annotations

from ..._absent import names_of

FSDP_WRAPPED_MODULE = "_fsdp_wrapped_module"
FSDP_PREFIX = FSDP_WRAPPED_MODULE + "."
_WRAPPERS = (FSDP_PREFIX, "_checkpoint_wrapped_module.", "_orig_mod.")


def clean_tensor_name(tensor_name: str) -> str:
    """The name that a parameter or buffer had before modules were wrapped."""
    for each in _WRAPPERS:
        tensor_name = tensor_name.replace(each, "")
    return tensor_name


__getattr__ = names_of(__name__)
