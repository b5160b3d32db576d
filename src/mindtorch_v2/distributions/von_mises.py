"""The von Mises distribution."""

from __future__ import annotations

import math
from typing import Any

import mindtorch_v2 as torch

from . import constraints
from .distribution import Distribution
from .utils import lazy_property

__all__ = ["VonMises"]


class VonMises(Distribution):
    """Angles around ``loc``, the nearer the larger ``concentration`` is."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _expands = ("loc", "concentration")

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, loc=loc, concentration=concentration)

    def log_prob(self, value: Any) -> Any:
        self._check(value)
        # I0(k) = exp(k) i0e(k) overflows where its logarithm does not.
        log_bessel = self.concentration + torch.special.i0e(self.concentration).log()
        return self.concentration * torch.cos(value - self.loc) - math.log(2 * math.pi) - log_bessel

    @lazy_property
    def _loc(self) -> Any:
        return self.loc.to(torch.float64)

    @lazy_property
    def _concentration(self) -> Any:
        return self.concentration.to(torch.float64)

    @lazy_property
    def _proposal_r(self) -> Any:
        """The wrapped Cauchy distribution that lies closest above this one; needs float64 below 1e-4."""
        k = self._concentration
        tau = 1 + (1 + 4 * k**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        return torch.where(k < 1e-5, 1 / k + k, (1 + rho**2) / (2 * rho))

    @torch.no_grad()
    def sample(self, sample_shape: Any = ()) -> Any:
        """By rejection, after Best and Fisher (1979)."""
        shape = self._extended_shape(sample_shape)
        loc, k, r = (t.expand(shape) for t in (self._loc, self._concentration, self._proposal_r))
        x = torch.empty(shape, dtype=loc.dtype, device=loc.device)
        done = torch.zeros(shape, dtype=torch.bool, device=loc.device)
        while not done.all():
            u1, u2, u3 = torch.rand((3, *shape), dtype=loc.dtype, device=loc.device).unbind()
            z = torch.cos(math.pi * u1)
            f = (1 + r * z) / (r + z)
            c = k * (r - f)
            accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
            x = torch.where(accept, (u3 - 0.5).sign() * f.acos(), x)
            done = done | accept
        return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @lazy_property
    def variance(self) -> Any:
        """The circular variance."""
        return 1 - torch.special.i1e(self.concentration) / torch.special.i0e(self.concentration)
