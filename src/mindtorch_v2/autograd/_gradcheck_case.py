"""A function at some arguments, as gradcheck looks at it, and what it raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import mindtorch_v2 as torch

from .._C import Tensor

BACKWARD = "Jacobian mismatch"
FORWARD = "Jacobian computed with forward mode mismatch"


class GradcheckError(RuntimeError):
    """The gradient of a function is not what finite differences say."""

    __module__ = "torch.autograd.gradcheck"


class Case(NamedTuple):
    """A function at some arguments, and how closely derivatives must agree."""

    func: Callable[..., Any]
    inputs: tuple[Any, ...]
    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    masked: bool = False  # of sparse inputs only the elements that are there count

    @property
    def places(self) -> list[int]:
        """Of the arguments that derivatives are asked for."""
        return [i for i, x in enumerate(self.inputs) if isinstance(x, Tensor) and x.requires_grad]

    @property
    def leaves(self) -> list[Tensor]:
        return [self.inputs[i] for i in self.places]

    def compare(self, found: Tensor, wanted: Tensor, lead: str, o: int, i: int, scale: float = 1.0) -> None:
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

    def compare_whole(self, found: Tensor, wanted: Tensor, by: Tensor, lead: str, o: int, i: int) -> None:
        """The same for Jacobians element by element; ``by`` is the output that backward began at, or the input that
        forward mode did, whose imaginary and real parts count one after the other."""
        if not by.is_complex():
            return self.compare(found, wanted, lead, o, i)
        which = "outputs" if lead is BACKWARD else "inputs"
        for part, first in (("imaginary", 1), ("real", 0)):
            half = slice(first, None, 2)
            got, expected = [m[:, half] if lead is BACKWARD else m[half] for m in (found, wanted)]
            said = f"While considering the {part} part of complex {which} only, {lead}"
            self.compare(got, expected, said, o, i)
        return None
