"""Comparing gradients with finite differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .._C import Tensor

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """The gradient of a function is not what finite differences say."""


def _tensors(value: Any) -> tuple[Tensor, ...]:
    items = value if isinstance(value, (tuple, list)) else (value,)
    return tuple(t for t in items if isinstance(t, Tensor))


def _differentiable(values: Sequence[Tensor]) -> list[Tensor]:
    return [t for t in values if t.requires_grad]


def _numerical(
    func: Callable[..., Any], inputs: tuple[Any, ...], x: Tensor, output: int, eps: float
) -> Tensor:
    """The Jacobian of one output by one input: a row per element of the input, central differences."""
    import mindtorch_v2 as torch

    flat = x.data.reshape(-1)  # its own version: what backward has kept of x counts as unchanged
    if flat.data_ptr() != x.data_ptr():
        raise GradcheckError(
            "gradcheck: inputs must be contiguous, since their elements are moved one by one"
        )

    def value() -> Tensor:
        with torch.no_grad():
            return _differentiable_outputs(func(*inputs))[output].detach().clone().reshape(-1)

    def slope(i: int, step: Any) -> Tensor:
        before = flat[i].clone()
        flat[i] = before + step
        high = value()
        flat[i] = before - step
        low = value()
        flat[i] = before
        return (high - low) / (2 * eps)

    rows = []
    for i in range(flat.numel()):
        along_real = slope(i, eps)
        if x.is_complex():  # the gradient that backward gives: d/d(re) + i d/d(im), conjugated for the output
            rows.append(torch.stack([along_real, slope(i, eps * 1j)]))
        else:
            rows.append(along_real)
    return torch.stack(rows) if rows else torch.zeros(0, value().numel(), dtype=x.dtype)


def _differentiable_outputs(value: Any) -> list[Tensor]:
    return [t for t in _tensors(value) if t.is_floating_point() or t.is_complex()]


def _analytical(output: Tensor, inputs: list[Tensor], create_graph: bool = False) -> list[Tensor]:
    """The Jacobian of one output by each input, a backward per element (and per direction of a complex one)."""
    import mindtorch_v2 as torch

    columns: list[list[Tensor]] = [[] for _ in inputs]
    directions = [1, 1j] if output.is_complex() else [1]
    for i in range(output.numel()):
        for direction in directions:
            seed = torch.zeros_like(output)
            seed.view(-1)[i] = direction
            found = torch.autograd.grad(output, inputs, seed, retain_graph=True, allow_unused=True)
            for column, grad, x in zip(columns, found, inputs, strict=True):
                column.append((torch.zeros_like(x) if grad is None else grad).detach().reshape(-1))
    return [
        torch.stack(column, 1) if column else torch.zeros(x.numel(), 0, dtype=x.dtype)
        for column, x in zip(columns, inputs, strict=True)
    ]


def _real_view(jacobian: Tensor) -> Tensor:
    import mindtorch_v2 as torch

    return torch.view_as_real(jacobian) if jacobian.is_complex() else jacobian


def _compare(
    analytical: Tensor, numerical: Tensor, x: Tensor, output: Tensor, atol: float, rtol: float, where: str
) -> None:
    import mindtorch_v2 as torch

    # Real numbers per (input component, output component) on both sides.
    n, m = x.numel(), output.numel()
    left = _real_view(analytical)  # [n, m * directions (, 2)]
    if x.is_complex():
        left = left.reshape(n, m, -1, 2).permute(0, 3, 1, 2)
        right = _real_view(numerical).reshape(n, 2, m, -1)
    else:
        left = left.reshape(n, 1, m, -1)
        right = _real_view(numerical).reshape(n, 1, m, -1)
    if not torch.allclose(left, right.to(left.dtype), rtol, atol):
        raise GradcheckError(
            f"Jacobian mismatch for {where}\nnumerical:{numerical}\nanalytical:{analytical}\n"
        )


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether backward agrees with central differences for every input that requires grad. With `fast_mode` the
    same full comparison is made."""
    for name, asked in (
        ("check_batched_grad", check_batched_grad),
        ("check_batched_forward_grad", check_batched_forward_grad),
        ("check_forward_ad", check_forward_ad),
    ):
        if asked:
            raise NotImplementedError(f"gradcheck: {name}=True is not supported")
    try:
        _gradcheck(func, inputs, eps, atol, rtol, nondet_tol, check_grad_dtypes)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    eps: float,
    atol: float,
    rtol: float,
    nondet_tol: float,
    check_grad_dtypes: bool,
) -> None:
    import mindtorch_v2 as torch

    arguments = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    leaves = _differentiable(_tensors(arguments))
    if not leaves:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them have "
            "requires_grad=True."
        )
    for i, x in enumerate(leaves):
        if x.dtype not in (torch.float64, torch.complex128):
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. This "
                "check will likely fail if all the inputs are not of double precision floating point or complex. ",
                stacklevel=3,
            )
        x.retain_grad()
    outputs = _differentiable_outputs(func(*arguments))
    for o, output in enumerate(outputs):
        if not output.requires_grad:
            continue
        analytical = _analytical(output, leaves)
        again = _analytical(output, leaves)
        for i, x in enumerate(leaves):
            if (analytical[i] - again[i]).abs().gt(nondet_tol).any():
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple "
                    "times gives different values, although analytical gradient matches numerical gradient."
                )
            if check_grad_dtypes and analytical[i].dtype != x.dtype:
                raise GradcheckError("Gradient has dtype mismatch")
            with torch.no_grad():
                numerical = _numerical(func, arguments, x, o, eps)
            _compare(
                analytical[i], numerical, x, output, atol, rtol, f"output {o} with respect to input {i},"
            )


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """The same for the gradient itself: whether it can be differentiated once more."""
    import mindtorch_v2 as torch

    arguments = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    if grad_outputs is None:
        outputs = _differentiable_outputs(func(*arguments))
        seeds = tuple(torch.randn_like(y.detach()).requires_grad_() for y in outputs)
    else:
        seeds = _tensors(grad_outputs)
    count = len(arguments)

    def gradient(*args: Any) -> tuple[Tensor, ...]:
        given, vectors = args[:count], args[count:]
        leaves = _differentiable(_tensors(given))
        with torch.enable_grad():
            outputs = _differentiable_outputs(func(*given))
            found = torch.autograd.grad(outputs, leaves, vectors, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None and g.requires_grad)

    return gradcheck(
        gradient,
        (*arguments, *seeds),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        fast_mode=fast_mode,
    )
