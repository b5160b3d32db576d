"""What the processes of a group are about to do, compared before they do it (``TORCH_DISTRIBUTED_DEBUG=DETAIL``)."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from .._C import Tensor
from ._described import dtype_name
from .errors import DistBackendError
from .flight_recorder.verdict import ranks_named

LENGTH = 1024  # bytes of a fingerprint, the same everywhere
_WORDS = ("collective", "number", "how", "dtypes", "shapes", "devices")
_ANY_SIZES = ("all_to_all", "all_to_all_single")  # parts may be of any size
_OF_OUTPUTS = ("scatter",)  # only one process has inputs


class Fingerprint(tuple[str, ...]):
    """What of a collective must be the same on all processes, in the order of ``_WORDS``."""

    __slots__ = ()

    @classmethod
    def of(
        cls,
        name: str,
        number: int,
        how: tuple[Any, ...],
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
    ) -> Fingerprint:
        """Of a collective that is about to run."""
        said = " ".join(str(getattr(each, "name", each)) for each in how)
        tensors = outputs if name in _OF_OUTPUTS else inputs
        dtypes = [dtype_name(each.dtype) for each in tensors]
        shapes = [] if name in _ANY_SIZES else [list(each.shape) for each in tensors]
        if name in _ANY_SIZES:  # and of any number, where a list is given
            dtypes = dtypes[:1]
        devices = sorted({each.device.type for each in tensors})
        return cls(
            (name, str(number), said, _short(", ".join(dtypes)), _short(str(shapes)), ", ".join(devices))
        )

    def packed(self) -> bytes:
        """As bytes of a fixed length."""
        return json.dumps(self).encode().ljust(LENGTH)

    @classmethod
    def unpacked(cls, data: bytes) -> Fingerprint:
        """From such bytes."""
        return cls(json.loads(data))

    def __str__(self) -> str:
        said = dict(zip(_WORDS, self, strict=True))
        how = f" {said['how']}" if said["how"] else ""
        tensors = f" of {said['dtypes']} {said['shapes']} on {said['devices']}" if said["dtypes"] else ""
        return f"{said['collective']}{how}{tensors} (number {said['number']})"


def _short(text: str) -> str:
    """What is long is shown by its beginning, and compared by what stands for the rest."""
    if len(text) <= 300:
        return text
    return f"{text[:200]}… {hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()}"


def compare(said: Sequence[Fingerprint], ranks: Sequence[int]) -> None:
    """Raises if they differ; names those who are not with the most."""
    common = Counter(said).most_common()
    if len(common) == 1:
        return
    usual = common[0][0]
    by_fingerprint: dict[Fingerprint, list[int]] = {}
    for rank, each in zip(ranks, said, strict=True):
        by_fingerprint.setdefault(each, []).append(rank)
    others = [each for each in by_fingerprint if each != usual]
    words = [word for place, word in enumerate(_WORDS) if any(each[place] != usual[place] for each in others)]
    running = "; ".join(f"{_running(by_fingerprint[each])}: {each}" for each in others)
    raise DistBackendError(
        f"Detected mismatch between collectives on ranks. {running}; but {_running(by_fingerprint[usual])}: {usual}. "
        f"Collectives differ in the following aspects: {', '.join(words)}"
    )


def _running(ranks: Sequence[int]) -> str:
    named = ranks_named(ranks)
    return f"{named[0].upper()}{named[1:]} {'is' if len(ranks) == 1 else 'are'} running collective"
