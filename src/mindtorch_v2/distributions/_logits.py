"""Probabilities and their logits, of which one is given and the other is made when asked for."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch


def _clamped(probs: Any) -> Any:
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """The logits that give these probabilities."""
    safe = _clamped(probs)
    return torch.log(safe) - torch.log1p(-safe) if is_binary else torch.log(safe)


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """The probabilities that logits mean."""
    return torch.sigmoid(logits) if is_binary else torch.softmax(logits, dim=-1)


class ProbsOrLogits:
    """Gives a distribution the attributes ``probs`` and ``logits``, whichever it was made with."""

    _is_binary = True

    def __getattr__(self, name: str) -> Any:
        known = self.__dict__
        with torch.enable_grad():
            if name == "probs" and "logits" in known:
                made = logits_to_probs(known["logits"], self._is_binary)
            elif name == "logits" and "probs" in known:
                made = probs_to_logits(known["probs"], self._is_binary)
            else:
                raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        known[name] = made
        return made

    @property
    def _param(self) -> Any:
        return self.__dict__["probs"] if "probs" in self.__dict__ else self.__dict__["logits"]


def check_one(probs: Any, logits: Any) -> None:
    """Refuses both and neither."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
