"""What gradcheck asks of derivatives besides their values: batches, gradients that are absent, layouts."""

from __future__ import annotations

import warnings
from typing import Any, NoReturn

import mindtorch_v2 as torch

from .._C import Tensor
from . import _jacobians
from ._engine import UndefinedGrad
from ._gradcheck_case import Case, GradcheckError

_BATCHED = (
    "gradcheck or gradgradcheck failed while testing batched {what} computation: {symptom}\n\n"
    "An operator that cannot be run on a batch needs a rule for it (batch: in its row of the table), and a Function "
    "generate_vmap_rule=True or a vmap of its own. To leave this check out, pass {option}=False."
)
_GRAD = {"what": "gradient", "option": "check_batched_grad"}
_FORWARD = {"what": "forward gradient", "option": "check_batched_forward_grad"}
_NOTES = "Please look at 'Notes about undefined output gradients' in 'tools/autograd/derivatives.yaml'"


def _fail(message: str, cause: BaseException | None = None) -> NoReturn:
    raise GradcheckError(message) from cause


def _batched(compute: Any, texts: dict[str, str]) -> Any:
    """What a computation for a whole batch gives."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="There is a performance drop")
            return compute()
    except RuntimeError as error:
        _fail(_BATCHED.format(symptom=f"got: {error}", **texts), error)


def _compare_batches(
    case: Case, found: Tensor, wanted: Tensor, o: int, i: int, texts: dict[str, str]
) -> None:
    if not torch.allclose(found, wanted, case.rtol, case.atol):
        symptom = f"for output {o} and input {i}:\n\nGot:\n{found}\n\nExpected:\n{wanted}"
        _fail(_BATCHED.format(symptom=symptom, **texts))


def batched_backward(case: Case, outputs: list[Tensor]) -> None:
    options: dict[str, Any] = {"retain_graph": True, "allow_unused": True, "is_grads_batched": True}
    for o, y in enumerate(outputs):
        if not y.requires_grad:
            continue
        weights = torch.stack([torch.randn_like(y.detach()) for _ in range(2)])
        batched = _batched(
            lambda y=y, weights=weights: torch.autograd.grad(y, case.leaves, weights, **options), _GRAD
        )
        single = [_jacobians.gradients(y, case.leaves, w) for w in weights]
        for i, found in enumerate(batched):
            if found is not None:
                _compare_batches(case, found, torch.stack([one[i] for one in single]), o, i, _GRAD)


def _for_all(function: Any, batch: Tensor) -> list[Tensor]:
    """What a function gives for the entries of a batch, in one call of it."""
    inside = torch._C._functorch
    level = inside._vmap_increment_nesting(batch.size(0), "unasked")
    try:
        found = function(inside._add_batch_dim(batch, 0, level))
        return [inside._remove_batch_dim(one, level, batch.size(0), 0) for one in found]
    finally:
        inside._vmap_decrement_nesting()


def batched_forward(case: Case, outputs: list[Tensor]) -> None:
    for i, place in enumerate(case.places):
        moves = torch.stack([torch.randn_like(case.leaves[i].detach()) for _ in range(2)])

        def push(direction: Tensor, place: int = place) -> tuple[Tensor, ...]:
            made = _jacobians.pushed(case.func, case.inputs, {place: direction}, len(outputs))
            return tuple(torch.zeros_like(y) if t is None else t for t, y in zip(made, outputs, strict=True))

        single = [push(move) for move in moves]
        batched = _batched(lambda push=push, moves=moves: _for_all(push, moves), _FORWARD)
        for o, found in enumerate(batched):
            _compare_batches(case, found, torch.stack([one[o] for one in single]), o, i, _FORWARD)


def multiplied_by_gradient(case: Case, outputs: list[Tensor]) -> None:
    """Gradients of zero give zero, in the layout, dtype, size and place of the inputs."""
    roots = [y for y in outputs if y.requires_grad]
    zeros = [torch.zeros_like(y) for y in roots]
    found = torch.autograd.grad(roots, case.leaves, zeros, retain_graph=True, allow_unused=True)
    for grad, x in zip(found, case.leaves, strict=True):
        if grad is None:
            continue
        if grad.layout is not torch.strided:
            if grad.layout is not x.layout:
                _fail(f"grad is incorrect layout ({grad.layout} is not {x.layout})")
            kind = str(grad.layout).replace("torch.", "").replace("_coo", "")
            for what in ("sparse_dim", "dense_dim"):
                got, expected = getattr(grad, what)(), getattr(x, what)()
                if got != expected:
                    _fail(f"grad is {kind} tensor, but has incorrect {what} {got}, expected {expected}")
        elements = _jacobians.dense(grad)
        if not torch.allclose(elements, torch.zeros_like(elements)) or not (
            case.masked or elements.eq(0).all()
        ):
            _fail("backward not multiplied by grad_output")
        for what in ("dtype", "device", "shape"):
            if getattr(grad, what) != getattr(x, what):
                named = {"dtype": "type", "shape": "size"}.get(what, what)
                _fail(f"grad is incorrect {named}: {getattr(grad, what)}, expected {getattr(x, what)}")


def undefined_backward(case: Case) -> None:
    """A gradient that is not there counts as zero: all of them, and each by itself."""

    def roots() -> list[Tensor]:
        return [y for y in _jacobians.differentiable_outputs(case.func(*case.inputs)) if y.requires_grad]

    cut = UndefinedGrad()
    cases = [[cut(y) for y in roots()]]
    for left_out in range(len(cases[0])) if len(cases[0]) > 1 else ():
        cases.append([cut(y) if k == left_out else y for k, y in enumerate(roots())])
    for outputs in cases:
        weights = [torch.zeros_like(y) for y in outputs]
        try:
            found = torch.autograd.grad(outputs, case.leaves, weights, allow_unused=True)
        except RuntimeError as error:
            _warn_undefined()
            _fail(f"Expected backward function to handle undefined output grads. {_NOTES}", error)
        if any(g is not None and not _jacobians.dense(g).eq(0).all() for g in found):
            _warn_undefined()
            _fail(
                "Expected all input grads to be undefined or zero when all output grads are undefined or zero. "
                f"{_NOTES}"
            )


def _warn_undefined() -> None:
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may "
        "break existing callers of this function. If this is true for you, you can call this function with "
        '"check_undefined_grad=False" to disable the feature',
        stacklevel=5,
    )


def undefined_forward(case: Case, outputs: list[Tensor]) -> None:
    """A direction that is not there counts as zero."""
    generator = torch.Generator()
    moves = {p: _jacobians.random_direction(case.inputs[p].detach(), generator) for p in case.places}
    for place in case.places:
        still = {**moves, place: torch.zeros_like(moves[place])}
        wanted = _jacobians.along(case.func, case.inputs, still, outputs)
        rest = {p: m for p, m in moves.items() if p != place}
        found = _jacobians.along(case.func, case.inputs, rest, outputs)
        for o, (got, expected) in enumerate(zip(found, wanted, strict=True)):
            if not torch.allclose(got, expected, case.rtol, case.atol):
                _fail(
                    f"Mismatch in tangent values for output with index: {o} when input: {case.inputs[place]} has an "
                    f"undefined tangent value. Got: {got} but expected: {expected}"
                )
