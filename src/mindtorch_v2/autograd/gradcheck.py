"""Comparing gradients with finite differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .._C import Tensor
from ._gradcheck_case import BACKWARD, FORWARD, Case, GradcheckError

__all__ = [
    "GradcheckError",
    "get_analytical_jacobian",
    "get_numerical_jacobian",
    "gradcheck",
    "gradgradcheck",
]


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
    """Whether derivatives agree with central differences for every input that requires grad. ``fast_mode`` compares
    them between random directions instead of element by element."""
    for wrong, message in (
        (
            not (check_forward_ad or check_backward_ad),
            "Expected at least one of check_forward_ad or check_backward_ad to be True",
        ),
        (
            check_batched_grad and not check_backward_ad,
            "Setting check_batched_grad=True requires check_backward_ad to be True",
        ),
        (
            check_batched_forward_grad and not check_forward_ad,
            "Setting check_batched_forward_grad=True requires check_forward_ad to be True",
        ),
    ):
        if wrong:
            raise AssertionError(message)
    from . import _derivative_checks, _jacobians

    arguments = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    if not masked:
        arguments = tuple(
            _jacobians.complete(x) if isinstance(x, Tensor) and x.requires_grad else x for x in arguments
        )
    case = Case(func, arguments, eps, atol, rtol, nondet_tol, bool(masked))
    try:
        outputs = _checked_outputs(case)
        if not outputs:
            return True
        compare = _compare_fast if fast_mode else _compare_all
        compare(case, outputs, check_forward_ad, check_backward_ad, check_grad_dtypes)
        if check_undefined_grad and check_forward_ad:
            _derivative_checks.undefined_forward(case, outputs)
        if check_batched_forward_grad:
            _derivative_checks.batched_forward(case, outputs)
        if check_batched_grad:
            _derivative_checks.batched_backward(case, outputs)
        if check_backward_ad:
            _derivative_checks.multiplied_by_gradient(case, outputs)
        if check_undefined_grad and check_backward_ad:
            _derivative_checks.undefined_backward(case)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _checked_outputs(case: Case) -> list[Tensor]:
    """The outputs to look at; none where nothing depends on the inputs, which finite differences must agree with."""
    import mindtorch_v2 as torch

    from . import _jacobians

    if not case.places:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have "
            "requires_grad=True."
        )
    for i, x in enumerate(case.leaves):
        if x.dtype not in (torch.float64, torch.complex128):
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. This "
                "check will likely fail if all the inputs are not of double precision floating point or complex. ",
                stacklevel=4,
            )
        if x.layout is torch.strided and any(
            step == 0 and size > 1 for step, size in zip(x.stride(), x.shape, strict=True)
        ):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call "
                ".contiguous on the input before passing it to gradcheck."
            )
        x.retain_grad()
    outputs = _jacobians.differentiable_outputs(case.func(*case.inputs))
    if any(y.layout is not torch.strided for y in outputs):
        raise ValueError(
            "Sparse output is not supported at gradcheck yet. Please call to_dense(masked_grad=...) on the output of "
            "fn for gradcheck."
        )
    if any(y.requires_grad for y in outputs):
        return outputs
    for x in case.leaves:
        for jacobian in _jacobians.numerical(case.func, case.inputs, x, outputs, case.eps):
            if not torch.allclose(jacobian, torch.zeros_like(jacobian), case.rtol, case.atol):
                raise GradcheckError("Numerical gradient for function expected to be zero")
    return []


def _check_reentrant(case: Case, first: list[Tensor], again: list[Tensor]) -> None:
    if any((a - b).abs().gt(case.nondet_tol).any() for a, b in zip(first, again, strict=True)):
        raise GradcheckError(
            "Backward is not reentrant, i.e., running backward with same input and grad_output multiple "
            "times gives different values, although analytical gradient matches numerical gradient."
        )


def _check_dtypes(case: Case, outputs: list[Tensor]) -> None:
    import mindtorch_v2 as torch

    from . import _jacobians

    for y in outputs:
        if y.requires_grad:
            found = _jacobians.gradients(y, case.leaves, torch.ones_like(y))
            if any(g.dtype != x.dtype for g, x in zip(found, case.leaves, strict=True)):
                raise GradcheckError("Gradient has dtype mismatch")


def _compare_all(
    case: Case, outputs: list[Tensor], forward: bool, backward: bool, check_dtypes: bool
) -> None:
    """Element by element."""
    from . import _jacobians

    wanted = [_jacobians.numerical(case.func, case.inputs, x, outputs, case.eps) for x in case.leaves]
    for o, y in enumerate(outputs if backward else ()):
        if not y.requires_grad:
            continue
        found = _jacobians.backward(y, case.leaves)
        _check_reentrant(case, found, _jacobians.backward(y, case.leaves))
        for i, x in enumerate(case.leaves):
            there = found[i] * _jacobians.is_stored(x).unsqueeze(1) if case.masked else found[i]
            case.compare_whole(there, wanted[i][o], y, BACKWARD, o, i)
    for i, place in enumerate(case.places if forward else ()):
        for o, jacobian in enumerate(_jacobians.forward(case.func, case.inputs, place, outputs)):
            case.compare_whole(jacobian, wanted[i][o], case.leaves[i], FORWARD, o, i)
    if backward and check_dtypes:
        _check_dtypes(case, outputs)


def _compare_fast(
    case: Case, outputs: list[Tensor], forward: bool, backward: bool, check_dtypes: bool
) -> None:
    """Between one random direction of each input and one of each output."""
    import mindtorch_v2 as torch

    from . import _jacobians

    generator = torch.Generator()  # of its own: a check leaves the program's random numbers as they are
    moves = [_jacobians.random_direction(x, generator) for x in case.leaves]
    weights = [_jacobians.random_direction(y, generator) for y in outputs]
    weighed = [_jacobians.components(w) for w in weights]
    sizes = [float(_jacobians.components(m).abs().sum()) for m in moves]
    wanted = [
        [(slope * w).sum() for slope, w in zip(slopes, weighed, strict=True)]
        for slopes in (
            _jacobians.slopes(case.func, case.inputs, x, move, case.eps)
            for x, move in zip(case.leaves, moves, strict=True)
        )
    ]
    scales = [[max(1.0, size * float(w.abs().sum())) for w in weighed] for size in sizes]
    for o, y in enumerate(outputs if backward else ()):
        if not y.requires_grad:
            continue
        found = _jacobians.gradients(y, case.leaves, weights[o])
        _check_reentrant(case, found, _jacobians.gradients(y, case.leaves, weights[o]))
        for i, g in enumerate(found):
            along = _jacobians.components(_jacobians.with_stored(case.leaves[i], moves[i]))
            product = (_jacobians.components(g) * along).sum()
            case.compare(product, wanted[i][o], BACKWARD, o, i, scales[i][o])
    still = _jacobians.at_rest(case.inputs) if forward else {}
    for i, place in enumerate(case.places if forward else ()):
        pushed = _jacobians.along(case.func, case.inputs, {**still, place: moves[i]}, outputs)
        for o, (moved, w) in enumerate(zip(pushed, weighed, strict=True)):
            case.compare((moved * w).sum(), wanted[i][o], FORWARD, o, i, scales[i][o])
    if backward and check_dtypes:
        _check_dtypes(case, outputs)


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

    from . import _jacobians

    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_undefined_grad=True requires check_rev_over_rev to be True")
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_batched_grad=True requires check_rev_over_rev to be True")
    arguments = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    if grad_outputs is None:
        outputs = [y for y in _jacobians.differentiable_outputs(func(*arguments)) if y.requires_grad]
        seeds = tuple(
            torch.testing.make_tensor(
                y.shape, dtype=y.dtype, device=y.device, low=-1, high=1, requires_grad=True,
                noncontiguous=gen_non_contig_grad_outputs,
            )
            for y in outputs
        )  # fmt: skip
    else:
        seeds = _jacobians.tensors_of(grad_outputs)
    count = len(arguments)
    wanted = [i for i, x in enumerate(arguments) if isinstance(x, Tensor) and x.requires_grad]

    def gradient(*args: Any) -> tuple[Tensor, ...]:
        given, vectors = args[:count], args[count:]
        with torch.enable_grad():
            leaves = [given[i] if given[i].requires_grad else given[i].requires_grad_() for i in wanted]
            outputs = [y for y in _jacobians.differentiable_outputs(func(*given)) if y.requires_grad]
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
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        fast_mode=fast_mode,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
    )


def _told_private(name: str, grad_out: float) -> None:
    warnings.warn(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it will be "
        "removed in a future version of PyTorch. If you have a specific use for this or feature request for this to be "
        "a stable API, please file us an issue at https://github.com/pytorch/pytorch/issues/new",
        FutureWarning,
        stacklevel=3,
    )
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0.")


def get_numerical_jacobian(
    fn: Callable[..., Any], inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> list[Tensor]:
    """Of the first output of ``fn(inputs)``, by each tensor of ``target``: private in PyTorch, and of old."""
    from . import _jacobians

    _told_private("get_numerical_jacobian", grad_out)

    def spread(*given: Any) -> Any:
        return fn(given)

    arguments = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    outputs = _jacobians.differentiable_outputs(fn(arguments))
    targets = _jacobians.tensors_of(arguments if target is None else target)
    return [_jacobians.numerical(spread, arguments, x, outputs, eps)[0] for x in targets if x.requires_grad]


def get_analytical_jacobian(
    inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Tensor, ...], bool, bool, bool]:
    """The Jacobians by backward, whether a second backward gives the same, and whether sizes and dtypes of gradients
    are those of the inputs: private in PyTorch, and of old."""
    import mindtorch_v2 as torch

    from . import _jacobians

    _told_private("get_analytical_jacobian", grad_out)
    leaves = [x for x in _jacobians.tensors_of(inputs) if x.requires_grad]
    found, again = _jacobians.backward(output, leaves), _jacobians.backward(output, leaves)
    same = not any((a - b).abs().gt(nondet_tol).any() for a, b in zip(found, again, strict=True))
    grads = _jacobians.gradients(output, leaves, torch.ones_like(output))
    pairs = list(zip(grads, leaves, strict=True))
    sizes, types = [
        all(getattr(g, what) == getattr(x, what) for g, x in pairs) for what in ("shape", "dtype")
    ]
    return tuple(found), same, sizes, types
