"""torch.__future__: choices of how modules change their parameters."""

from __future__ import annotations


class _Choices:
    overwrite_module_params_on_conversion = False
    swap_module_params_on_conversion = False


_choices = _Choices()


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether conversions (``module.half()``, ``module.to(...)``) give modules new parameters instead of new data."""
    _choices.overwrite_module_params_on_conversion = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether conversions give modules new parameters; False at the start."""
    return _choices.overwrite_module_params_on_conversion


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether conversions and ``load_state_dict`` exchange parameters with ``torch.utils.swap_tensors``."""
    _choices.swap_module_params_on_conversion = value


def get_swap_module_params_on_conversion() -> bool:
    """Whether conversions and ``load_state_dict`` exchange parameters; False at the start."""
    return _choices.swap_module_params_on_conversion
