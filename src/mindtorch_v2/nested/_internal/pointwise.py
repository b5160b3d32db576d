"""Operators that take each element for itself: on the values, once other operands lie as they do."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .nested_tensor import NestedTensor, owners, places, values_of, wrap, write
from .rules import refuse, rule

_OF_ONE = """
neg negative abs absolute exp log log1p expm1 sqrt rsqrt reciprocal square sin cos tan tanh sigmoid erf sign floor ceil
round trunc fix logical_not bitwise_not acos asin atan sinh cosh acosh asinh atanh arccos arcsin arctan arccosh arcsinh
arctanh sinc exp2 log2 log10 deg2rad rad2deg erfc erfinv lgamma digamma frac isinf isfinite isposinf isneginf signbit
isnan isreal nan_to_num logit sgn angle conj conj_physical real imag i0 special_i0e special_i1 special_i1e special_entr
special_ndtr special_ndtri special_log_ndtr special_erfcx special_airy_ai special_bessel_j0 special_bessel_j1
special_bessel_y0 special_bessel_y1 special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0
special_modified_bessel_k1 special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1
special_spherical_bessel_j0 mvlgamma polygamma frexp clamp clamp_min clamp_max clip
relu relu6 silu mish hardswish hardsigmoid logsigmoid log_sigmoid leaky_relu elu hardtanh softshrink softplus hardshrink
threshold gelu selu celu softsign tanhshrink rrelu dropout alpha_dropout native_dropout
special_expit special_exp2 special_digamma special_erf special_erfc special_erfinv special_expm1 special_gammaln
special_log1p special_logit special_psi special_round special_sinc special_i0 special_multigammaln special_polygamma
"""
_OF_SEVERAL = """
add sub subtract mul multiply div divide true_divide pow maximum minimum remainder fmod floor_divide atan2 arctan2
bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift rsub fmax fmin copysign hypot heaviside
logaddexp logaddexp2 xlogy gcd lcm eq ne lt le gt ge not_equal less less_equal greater greater_equal logical_and
logical_or logical_xor addcmul addcdiv lerp nextafter ldexp float_power isclose fill masked_fill where igamma igammac
complex polar special_zeta special_xlog1py special_xlogy special_gammainc special_gammaincc
special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v
special_chebyshev_polynomial_w special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u
special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w special_hermite_polynomial_h
special_hermite_polynomial_he special_laguerre_polynomial_l special_legendre_polynomial_p
threshold_backward tanh_backward sigmoid_backward silu_backward mish_backward hardswish_backward hardsigmoid_backward
leaky_relu_backward hardtanh_backward hardshrink_backward softshrink_backward softplus_backward gelu_backward
"""
_BY_SYNTAX = """
__rsub__ __rtruediv__ __rdiv__ __rpow__ __rfloordiv__ __rmod__ __floordiv__ __and__ __rand__ __or__ __ror__ __xor__
__rxor__ __lshift__ __rlshift__ __rshift__ __rrshift__ __invert__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __mod__
__add__ __radd__ __sub__ __mul__ __rmul__ __truediv__ __pow__ __neg__ __pos__ __abs__ __div__
"""
_BY_CHANCE = "uniform normal exponential bernoulli cauchy log_normal geometric random zero fill fill_diagonal"
NAMES = (_OF_ONE + _OF_SEVERAL + _BY_SYNTAX).split()
IN_PLACE = [f"{name}_" for name in (_OF_ONE + _OF_SEVERAL + _BY_CHANCE).split()]
IN_PLACE += ["__iand__", "__ior__", "__ixor__", "__ilshift__", "__irshift__", "__idiv__"]


def _shown(value: Any) -> str:
    return str(tuple(value.shape))


def _mismatch(name: str, one: Any, other: Any) -> RuntimeError:
    same = (
        " Their sequences must be the same: make one of the other's offsets (nested_tensor_from_jagged)"
        if isinstance(other, NestedTensor) and isinstance(one, NestedTensor)
        else ""
    )
    return RuntimeError(
        f"cannot call binary pointwise function {name} with inputs of shapes {_shown(one)} and {_shown(other)}.{same}"
    )


def laid_out(name: str, value: Any, like: NestedTensor) -> Any:
    """An operand as values that lie as those of a nested tensor, ready to be broadcast with them."""
    if isinstance(value, (list, tuple)):
        return type(value)(laid_out(name, v, like) for v in value)
    if isinstance(value, NestedTensor):
        from_the_end = value._ragged_idx - value.dim()
        if value._size != like._size or from_the_end != like._ragged_idx - like.dim():
            raise _mismatch(name, like, value)
        if (value._lengths is None) != (like._lengths is None):
            raise _mismatch(name, like, value)
        return values_of(value)
    if not isinstance(value, torch.Tensor) or value.dim() == 0:
        return value
    if value.is_nested:
        raise RuntimeError(
            f"{name}(): got nested tensors in the jagged and the strided layout; make them alike"
        )
    return _dense_laid_out(name, value, like)


def _dense_laid_out(name: str, dense: torch.Tensor, like: NestedTensor) -> torch.Tensor:
    ragged, dims = like._ragged_idx, like.dim()
    if dense.dim() > dims:
        raise NotImplementedError(
            f"{name}(): broadcasting a nested tensor of shape {_shown(like)} with a tensor of more dimensions, "
            f"{_shown(dense)}, is not there"
        )
    if dense.dim() < dims:
        at = dense.dim() - (dims - ragged)  # where it meets the ragged dimension
        if at >= 0 and dense.shape[at] != 1:
            raise _mismatch(name, like, dense)
        return dense
    batch = like._offsets.shape[0] - 1
    if dense.shape[0] not in (1, batch):
        raise _mismatch(name, like, dense)
    if dense.shape[ragged] == 1:
        if dense.shape[0] == 1:
            return dense.squeeze(0)
        if like._lengths is not None:
            raise _mismatch(name, like, dense)
        rows = dense.squeeze(ragged).index_select(0, owners(like))
        return rows.movedim(0, ragged - 1)
    longest = like._get_max_seqlen()
    if dense.shape[ragged] != longest or like._lengths is not None:
        raise RuntimeError(
            f"The expanded size of the tensor ({longest}) must match the existing size ({dense.shape[ragged]}) at "
            f"non-singleton dimension {ragged}: the longest sequence has {longest} steps"
        )
    rows = dense.movedim(ragged, 1).expand(batch, -1, *(-1,) * (dims - 2)).flatten(0, 1)
    return rows.index_select(0, _padded_places(like, longest)).movedim(0, ragged - 1)


def _padded_places(like: NestedTensor, longest: int) -> torch.Tensor:
    return owners(like) * longest + places(like) - like._offsets.index_select(0, owners(like))


def first_nested(values: Any) -> NestedTensor | None:
    for value in values:
        if isinstance(value, NestedTensor):
            return value
        if isinstance(value, (list, tuple)) and (found := first_nested(value)) is not None:
            return found
    return None


def wrapped(made: Any, like: NestedTensor, ragged_idx: int | None = None) -> Any:
    """Results as nested tensors, one or several."""
    if isinstance(made, torch.Tensor):
        return wrap(made, like, ragged_idx)
    if isinstance(made, (list, tuple)):
        each = [wrapped(m, like, ragged_idx) for m in made]
        return type(made)(each)
    return made


def _whole(values: list[Any], like: NestedTensor) -> NestedTensor:
    """The nested operand with the most dimensions decides how the result lies."""
    return max((v for v in values if isinstance(v, NestedTensor)), key=lambda v: v.dim(), default=like)


@rule(*NAMES)
def pointwise(func: Any, *args: Any, **kwargs: Any) -> Any:
    like = first_nested((*args, *kwargs.values()))
    assert like is not None
    name = func.__name__
    if kwargs.get("inplace") and hasattr(func, "__wrapped__"):
        return func.__wrapped__(*args, **kwargs)
    if "out" in kwargs:
        out = kwargs.pop("out")
        made = pointwise(func, *args, **kwargs)
        if not isinstance(out, NestedTensor) or out._values.shape != made._values.shape:
            raise RuntimeError(
                f"{name}(): out= must be a nested tensor like the result, of shape {made.shape}"
            )
        return write(out, values_of(made))
    like = _whole([*args, *kwargs.values()], like)
    plain = [laid_out(name, a, like) for a in args]
    named = {key: laid_out(name, a, like) for key, a in kwargs.items()}
    made = func(*plain, **named)
    ragged = like._ragged_idx
    first = made[0] if isinstance(made, (list, tuple)) else made
    if not isinstance(first, torch.Tensor) or first.dim() < like._values.dim():
        raise refuse(name)
    return wrapped(made, like, ragged)


@rule(*IN_PLACE)
def in_place(func: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    name = func.__name__
    if not isinstance(self, NestedTensor):
        raise RuntimeError(
            f"{name}(): a dense tensor of shape {_shown(self)} cannot hold a nested result; use {name.rstrip('_')}()"
        )
    plain = [laid_out(name, a, self) for a in args]
    named = {key: laid_out(name, a, self) for key, a in kwargs.items()}
    operands = [*plain, *named.values()]
    if torch.is_grad_enabled() and (
        self.requires_grad or any(isinstance(o, torch.Tensor) and o.requires_grad for o in operands)
    ):
        if self.is_leaf and self.requires_grad:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        return write(self, func(values_of(self).clone(), *plain, **named))
    func(self._values, *plain, **named)
    return self


@rule("prelu")
def prelu(func: Any, input: NestedTensor, weight: torch.Tensor) -> NestedTensor:
    """A weight for each channel counts along the second dimension of a sequence."""
    return wrap(func(values_of(input), weight), input)
