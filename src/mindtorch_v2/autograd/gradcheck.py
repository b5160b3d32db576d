"""Comparing gradients with finite differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._C import Tensor
from . import _above

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """The gradient of a function is not what finite differences say."""


@dataclass(frozen=True)
class _Case:
    """A function at some arguments, and how closely derivatives must agree."""

    func: Callable[..., Any]
    inputs: tuple[Any, ...]
    eps: float
    atol: float
    rtol: float
    nondet_tol: float

    @property
    def places(self) -> list[int]:
        """Of the arguments that derivatives are asked for."""
        return [i for i, x in enumerate(self.inputs) if isinstance(x, Tensor) and x.requires_grad]

    @property
    def leaves(self) -> list[Tensor]:
        return [self.inputs[i] for i in self.places]

    def compare(self, found: Tensor, wanted: Tensor, lead: str, o: int, i: int, scale: float = 1.0) -> None:
        import mindtorch_v2 as torch

        if not torch.allclose(found, wanted.to(found.dtype), self.rtol, self.atol * scale):
            note = (
                ""
                if wanted.dim()
                else "\nThe above quantities relating the numerical and analytical jacobians are computed in fast "
                "mode: each is the Jacobian between two random directions. Without fast_mode=True all of it is shown.\n"
            )
            raise GradcheckError(
                f"{lead} for output {o} with respect to input {i},\nnumerical:{wanted}\nanalytical:{found}\n{note}"
            )


_BACKWARD = "Jacobian mismatch"
_FORWARD = "Jacobian computed with forward mode mismatch"


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
    arguments = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    case = _Case(func, arguments, eps, atol, rtol, nondet_tol)
    try:
        outputs = _checked_outputs(case)
        if not outputs:
            return True
        compare = _compare_fast if fast_mode else _compare_all
        compare(case, outputs, check_forward_ad, check_backward_ad, check_grad_dtypes)
        if check_batched_forward_grad:
            _check_batched_forward(case, outputs)
        if check_batched_grad:
            _check_batched_backward(case, outputs)
        if check_undefined_grad and check_backward_ad:
            _check_undefined_backward(case, outputs)
        if check_undefined_grad and check_forward_ad:
            _check_undefined_forward(case, outputs)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _checked_outputs(case: _Case) -> list[Tensor]:
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
        x.retain_grad()
    outputs = _jacobians.differentiable_outputs(case.func(*case.inputs))
    if any(y.requires_grad for y in outputs):
        return outputs
    for x in case.leaves:
        for jacobian in _jacobians.numerical(case.func, case.inputs, x, outputs, case.eps):
            if not torch.allclose(jacobian, torch.zeros_like(jacobian), case.rtol, case.atol):
                raise GradcheckError("Numerical gradient for function expected to be zero")
    return []


def _check_reentrant(case: _Case, first: list[Tensor], again: list[Tensor]) -> None:
    if any((a - b).abs().gt(case.nondet_tol).any() for a, b in zip(first, again, strict=True)):
        raise GradcheckError(
            "Backward is not reentrant, i.e., running backward with same input and grad_output multiple "
            "times gives different values, although analytical gradient matches numerical gradient."
        )


def _check_dtypes(case: _Case, outputs: list[Tensor]) -> None:
    import mindtorch_v2 as torch

    from . import _jacobians

    for y in outputs:
        if y.requires_grad:
            found = _jacobians.gradients(y, case.leaves, torch.ones_like(y))
            if any(g.dtype != x.dtype for g, x in zip(found, case.leaves, strict=True)):
                raise GradcheckError("Gradient has dtype mismatch")


def _compare_all(
    case: _Case, outputs: list[Tensor], forward: bool, backward: bool, check_dtypes: bool
) -> None:
    """Element by element."""
    from . import _jacobians

    wanted = [_jacobians.numerical(case.func, case.inputs, x, outputs, case.eps) for x in case.leaves]
    if forward:
        for i, place in enumerate(case.places):
            for o, jacobian in enumerate(_jacobians.forward(case.func, case.inputs, place, outputs)):
                case.compare(jacobian, wanted[i][o], _FORWARD, o, i)
    if not backward:
        return
    for o, y in enumerate(outputs):
        if not y.requires_grad:
            continue
        found = _jacobians.backward(y, case.leaves)
        _check_reentrant(case, found, _jacobians.backward(y, case.leaves))
        for i in range(len(case.leaves)):
            case.compare(found[i], wanted[i][o], _BACKWARD, o, i)
    if check_dtypes:
        _check_dtypes(case, outputs)


def _compare_fast(
    case: _Case, outputs: list[Tensor], forward: bool, backward: bool, check_dtypes: bool
) -> None:
    """Between one random direction of each input and one of each output."""
    from . import _jacobians

    still = _jacobians.at_rest(case.inputs)
    moves = [_jacobians.random_direction(x) for x in case.leaves]
    weights = [_jacobians.random_direction(y) for y in outputs]
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
    for i, place in enumerate(case.places if forward else ()):
        pushed = _jacobians.along(case.func, case.inputs, {**still, place: moves[i]}, outputs)
        for o, (moved, w) in enumerate(zip(pushed, weighed, strict=True)):
            case.compare((moved * w).sum(), wanted[i][o], _FORWARD, o, i, scales[i][o])
    if not backward:
        return
    for o, y in enumerate(outputs):
        if not y.requires_grad:
            continue
        found = _jacobians.gradients(y, case.leaves, weights[o])
        _check_reentrant(case, found, _jacobians.gradients(y, case.leaves, weights[o]))
        for i, g in enumerate(found):
            product = (_jacobians.components(g) * _jacobians.components(moves[i])).sum()
            case.compare(product, wanted[i][o], _BACKWARD, o, i, scales[i][o])
    if check_dtypes:
        _check_dtypes(case, outputs)


def _check_batched_backward(case: _Case, outputs: list[Tensor]) -> None:
    import mindtorch_v2 as torch

    from . import _jacobians

    for y in outputs:
        if not y.requires_grad:
            continue
        weights = torch.stack([torch.randn_like(y.detach()) for _ in range(2)])
        options: dict[str, Any] = {"retain_graph": True, "allow_unused": True}
        batched = torch.autograd.grad(y, case.leaves, weights, is_grads_batched=True, **options)
        single = [_jacobians.gradients(y, case.leaves, w) for w in weights]
        for i, found in enumerate(batched):
            if found is None:
                continue
            wanted = torch.stack([one[i] for one in single])
            if not torch.allclose(found, wanted, case.rtol, case.atol):
                raise GradcheckError(
                    f"For output and input {i}: gradients that were computed for a batch of vectors at once are not "
                    f"those of the vectors one by one.\nGot:\n{found}\n\nExpected:\n{wanted}"
                )


def _check_batched_forward(case: _Case, outputs: list[Tensor]) -> None:
    import mindtorch_v2 as torch

    from . import _jacobians

    for i, place in enumerate(case.places):
        moves = torch.stack([torch.randn_like(case.leaves[i].detach()) for _ in range(2)])

        def push(direction: Tensor, place: int = place) -> tuple[Tensor, ...]:
            made = _jacobians.pushed(case.func, case.inputs, {place: direction}, len(outputs))
            return tuple(torch.zeros_like(y) if t is None else t for t, y in zip(made, outputs, strict=True))

        single = [push(move) for move in moves]
        for o, found in enumerate(_above.func().vmap(push)(moves)):
            wanted = torch.stack([one[o] for one in single])
            if not torch.allclose(found, wanted, case.rtol, case.atol):
                raise GradcheckError(
                    f"For output {o} and input {i}: forward mode for a batch of directions at once does not give what "
                    f"it gives for them one by one.\nGot:\n{found}\n\nExpected:\n{wanted}"
                )


def _check_undefined_backward(case: _Case, outputs: list[Tensor]) -> None:
    """A gradient that is not there counts as zero."""
    import mindtorch_v2 as torch

    roots = [y for y in outputs if y.requires_grad]
    weights = [torch.randn_like(y.detach()) for y in roots]
    options: dict[str, Any] = {"retain_graph": True, "allow_unused": True}
    for left_out in range(len(roots)) if len(roots) > 1 else ():
        rest = [k for k in range(len(roots)) if k != left_out]
        found = torch.autograd.grad(
            [roots[k] for k in rest], case.leaves, [weights[k] for k in rest], **options
        )
        zeros = [torch.zeros_like(w) if k == left_out else w for k, w in enumerate(weights)]
        wanted = torch.autograd.grad(roots, case.leaves, zeros, **options)
        for x, g, z in zip(case.leaves, found, wanted, strict=True):
            nothing = torch.zeros_like(x)
            if not torch.allclose(
                nothing if g is None else g, nothing if z is None else z, case.rtol, case.atol
            ):
                raise GradcheckError(
                    "Expected backward function to handle undefined output grads. Please look at 'Notes about "
                    "undefined output gradients' in 'tools/autograd/derivatives.yaml'"
                )


def _check_undefined_forward(case: _Case, outputs: list[Tensor]) -> None:
    """A direction that is not there counts as zero."""
    import mindtorch_v2 as torch

    from . import _jacobians

    moves = {p: torch.rand_like(case.inputs[p].detach()) for p in case.places}
    for place in case.places if len(case.places) > 1 else ():
        rest = {p: m for p, m in moves.items() if p != place}
        found = _jacobians.along(case.func, case.inputs, rest, outputs)
        still = {**moves, place: torch.zeros_like(moves[place])}
        wanted = _jacobians.along(case.func, case.inputs, still, outputs)
        for o, (got, expected) in enumerate(zip(found, wanted, strict=True)):
            if not torch.allclose(got, expected, case.rtol, case.atol):
                raise GradcheckError(
                    "Mismatch in tangent values for output with index: ", o, " when input: ", case.inputs[place],
                    " has an undefined tangent value. ", " Got: ", got, " but expected: ", expected,
                )  # fmt: skip


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
        outputs = _jacobians.differentiable_outputs(func(*arguments))
        seeds = tuple(
            _spread_out(torch.randn_like(y.detach()), gen_non_contig_grad_outputs).requires_grad_()
            for y in outputs
        )
    else:
        seeds = _jacobians.tensors_of(grad_outputs)
    count = len(arguments)
    wanted = [i for i, x in enumerate(arguments) if isinstance(x, Tensor) and x.requires_grad]

    def gradient(*args: Any) -> tuple[Tensor, ...]:
        given, vectors = args[:count], args[count:]
        with torch.enable_grad():
            leaves = [given[i] if given[i].requires_grad else given[i].requires_grad_() for i in wanted]
            outputs = _jacobians.differentiable_outputs(func(*given))
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


def _spread_out(tensor: Tensor, wanted: bool) -> Tensor:
    """The tensor with gaps between its elements, where that is wanted."""
    import mindtorch_v2 as torch

    if not wanted or not tensor.dim():
        return tensor
    return torch.stack([tensor, tensor], -1)[..., 0]
