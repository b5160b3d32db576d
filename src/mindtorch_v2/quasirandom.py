"""``torch.quasirandom``: points that fill the unit cube more evenly than chance does."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any, Self

import numpy

import mindtorch_v2 as torch

__all__ = ["SobolEngine"]


@cache
def _published_numbers() -> tuple[Any, Any]:
    """The primitive polynomials and first direction numbers of Joe and Kuo, which scipy ships."""
    try:
        with (resources.files("scipy.stats") / "_sobol_direction_numbers.npz").open("rb") as file:
            stored = numpy.load(file)
            return stored["poly"].astype(numpy.int64), stored["vinit"].astype(numpy.int64)
    except (ModuleNotFoundError, FileNotFoundError) as error:
        raise ModuleNotFoundError(
            "torch.quasirandom.SobolEngine reads its direction numbers from scipy (1.7 or newer), which is not "
            "installed: pip install scipy"
        ) from error


def _direction_numbers(dimension: int, bits: int) -> Any:
    """An integer of `bits` binary digits per dimension and digit of the index."""
    polynomials, first = (numbers[:dimension] for numbers in _published_numbers())
    numbers = numpy.ones((dimension, bits), numpy.int64)
    for degree in range(1, int(polynomials.max()).bit_length()):
        rows = numpy.nonzero(polynomials >> degree == 1)[0]
        if dimension and rows.size and rows[0] == 0:
            rows = rows[1:]  # the first dimension is van der Corput's sequence: ones
        numbers[rows, :degree] = first[rows, :degree]
        for at in range(degree, bits):
            made = numbers[rows, at - degree].copy()
            for back in range(1, degree + 1):
                coefficient = polynomials[rows] >> (degree - back) & 1
                made ^= coefficient * (numbers[rows, at - back] << back)
            numbers[rows, at] = made
    return numbers << numpy.arange(bits - 1, -1, -1)


class SobolEngine:
    """Sobol's sequence in the unit cube, scrambled if asked for (Owen's matrices and a shift)."""

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self.num_generated = 0
        directions = _direction_numbers(dimension, self.MAXBIT)
        shift = numpy.zeros(dimension, numpy.int64)
        if scramble:
            directions, shift = self._scrambled(directions)
        self.sobolstate, self.shift = torch.from_numpy(directions), torch.from_numpy(shift)

    def _scrambled(self, directions: Any) -> tuple[Any, Any]:
        """The digits of each number times a random lower triangular matrix, the highest first; and the shift."""
        generator = None if self.seed is None else torch.Generator().manual_seed(self.seed)
        weights = 1 << numpy.arange(self.MAXBIT)
        shift = torch.randint(2, (self.dimension, self.MAXBIT), generator=generator).numpy() @ weights
        size = (self.dimension, self.MAXBIT, self.MAXBIT)
        matrices = torch.randint(2, size, generator=generator).numpy()
        matrices = numpy.tril(matrices, -1) | numpy.eye(self.MAXBIT, dtype=matrices.dtype)
        digits = directions[:, None, :] >> numpy.arange(self.MAXBIT - 1, -1, -1)[:, None] & 1
        return weights[::-1] @ (matrices @ digits % 2), shift

    def draw(
        self, n: int = 1, out: torch.Tensor | None = None, dtype: torch.dtype | None = None
    ) -> torch.Tensor:
        """The next `n` points, a row each."""
        if n < 0:
            raise ValueError(f"SobolEngine.draw: wanted a number of points, got {n}")
        if self.num_generated + n > 1 << self.MAXBIT:
            raise ValueError(f"the sequence has 2**{self.MAXBIT} points, and {self.num_generated} were drawn")
        index = numpy.arange(self.num_generated, self.num_generated + n, dtype=numpy.int64)
        gray, directions = index ^ index >> 1, self.sobolstate.numpy()
        points = numpy.broadcast_to(self.shift.numpy(), (n, self.dimension)).copy()
        for digit in range(self.MAXBIT):
            points ^= (gray >> digit & 1)[:, None] * directions[:, digit]
        self.num_generated += n
        result = torch.from_numpy(points).to(dtype or torch.get_default_dtype()) / (1 << self.MAXBIT)
        return result if out is None else out.resize_as_(result).copy_(result)

    def draw_base2(
        self, m: int, out: torch.Tensor | None = None, dtype: torch.dtype | None = None
    ) -> torch.Tensor:
        """The next ``2**m`` points; the sum of all must be a power of two, where the sequence is balanced."""
        n = 1 << m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. "
                "If you still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n, out, dtype)

    def reset(self) -> Self:
        """Starts over."""
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> Self:
        """Leaves `n` points out."""
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        options = [f"dimension={self.dimension}"]
        options += ["scramble=True"] if self.scramble else []
        options += [f"seed={self.seed}"] if self.seed is not None else []
        return f"{type(self).__name__}({', '.join(options)})"
