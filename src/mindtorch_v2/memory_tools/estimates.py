"""The most memory that training a model takes, without the device: ``mindtorch memory estimate``.

Note [Estimates]
The program runs on ``meta``, which stands for the device that is asked about: casts, attention and optimizers are that
device's. What its tensors take and give back, in order, goes through the allocator as a recorded history does, so that
rounding, splits and segments are in it, and an operator that the device makes of others (a recurrent layer) is made of
them. What no tensor of the program has is not: workspaces that the library of a real device asks for, and what the
driver keeps. For "cuda", what PyTorch's kernels and NVIDIA's libraries take is: Note [PyTorch on CUDA] in
``pytorch_on_cuda.py``. A host has no caching allocator here: it reserves what is allocated.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from typing import Any

import numpy

from .._devices import registry
from .._plan import memory
from .._plan.cases import ALONE, DTYPES, OPTIMIZERS, Case
from .._plan.measure import one_of_many
from .._plan.memory import Purpose
from .._plan.models import Subject
from .._plan.training import Training
from ._replay import needs_of, size_of, text_of
from .pytorch_on_cuda import Gpu, running

Build = Callable[..., tuple[Any, Any]]
STEPS = 3  # in the second, the optimizer has its state; in the third nothing is new
LARGEST_BATCH = 1 << 24


@dataclass(frozen=True)
class Estimate:
    """What one card needs."""

    device: str
    rank: int
    cards: int
    batch: int | None
    parameters: int  # bytes of the parameters of this card
    peak_allocated: int
    peak_reserved: int
    at_peak: dict[str, int]  # bytes of each purpose when most was allocated
    capacity: int | None
    fits: bool
    failure: str  # what the error would say

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def __str__(self) -> str:
        where = f"{self.device} {self.rank} of {self.cards}" if self.cards > 1 else self.device
        batch = "" if self.batch is None else f", batch {self.batch}"
        shares = [f"{name} {text_of(nbytes)}" for name, nbytes in self.at_peak.items() if nbytes]
        lines = [
            f"{where}{batch}: {text_of(self.peak_allocated)} for tensors, {text_of(self.peak_reserved)} reserved",
            f"  at the peak: {', '.join(shares)}",
        ]
        if self.capacity is not None:
            fits = "fits into" if self.fits else "does not fit into"
            lines.append(f"  {fits} {text_of(self.capacity)}")
        return "\n".join(lines)


def _shares(rows: Any, at: int) -> dict[str, int]:
    """What lived after a row, by what it turned out to be for."""
    purpose = dict(zip(rows[:, 1].tolist(), rows[:, 3].tolist(), strict=True))  # the last word holds
    live: dict[int, int] = {}
    for kind, storage, nbytes, _ in rows[: at + 1].tolist():
        if kind == 0:
            live[storage] = nbytes
        elif kind == 1:
            live.pop(storage, None)
    result = dict.fromkeys((each.name.lower() for each in Purpose), 0)
    for storage, nbytes in live.items():
        result[Purpose(purpose[storage]).name.lower()] += nbytes
    return result


def _recorded(run: Callable[[], Any], device: str, gpu: Gpu | None = None) -> Any:
    """The rows of a program, without what was there before."""
    gc.collect()  # what cycles hold of other programs would be freed in the middle of this one
    meant = running(gpu) if device == "cuda" else memory.standing_for(device)
    with memory.recording():
        with meant:
            run()
        rows = memory.history()
    made = set(rows[rows[:, 0] == 0, 1].tolist())
    return rows[[storage in made for storage in rows[:, 1].tolist()]]


def peak_of(
    run: Callable[[], Any],
    device: str | None = None,
    conf: str = "",
    capacity: int | str | None = None,
    *,
    rank: int = 0,
    cards: int = 1,
    batch: int | None = None,
    gpu: Gpu | None = None,
) -> Estimate:
    """What a program needs that makes its tensors on ``meta``; ``run()`` is all of it, the model and its steps."""
    room = None if capacity is None else size_of(capacity)
    device = device or registry.accelerator().type
    rows = _recorded(run, device, gpu)
    requests = rows[rows[:, 0] != 2]
    change = numpy.where(requests[:, 0] == 0, 1, -1) * requests[:, 2]
    live = change.cumsum()
    peak = int(live.max(initial=0))
    at = int(numpy.flatnonzero(rows[:, 0] != 2)[live.argmax()]) if len(requests) else -1
    shares = _shares(rows, at)
    if device == "cpu":
        fits = room is None or peak <= room
        failure = "" if fits else f"{text_of(peak)} are more than {text_of(room or 0)}"
        return Estimate(
            device, rank, cards, batch, shares["parameters"], peak, peak, shares, room, fits, failure
        )
    needs = needs_of(requests, conf)
    failure = needs_of(requests, conf, room)["failure"] if room is not None else ""
    return Estimate(
        device, rank, cards, batch, shares["parameters"], needs["peak_allocated"], needs["peak_reserved"], shares, room,
        not failure, failure,
    )  # fmt: skip


def _checked(case: Case) -> Case:
    for what, value, known in (
        ("dtype", case.dtype, DTYPES),
        ("autocast", case.autocast, ("", *DTYPES)),
        ("optimizer", case.optimizer, OPTIMIZERS),
    ):
        if value not in known:
            raise ValueError(f"{what} is {value!r}, expected one of {', '.join(map(repr, known))}")
    return case.checked()


def estimate(
    build: Build,
    *,
    batch: int | str | None = None,
    optimizer: str = "adamw",
    checkpointing: bool = False,
    autocast: str = "",
    dtype: str = "float32",
    device: str | None = None,
    conf: str = "",
    capacity: int | str | None = None,
    cards: int = 1,
    rank: int = 0,
    way: str = ALONE,
    tensor_parallel: int = 8,
    gpu: Gpu | None = None,
) -> Estimate:
    """What training a model takes on one card, at most. ``build()`` gives the model and a tuple of what its forward
    gets, on the default device; with ``batch``, it is called as ``build(batch=...)``, and "auto" is the largest that
    fits into ``capacity``. ``checkpointing`` is of the layers that the model repeats; ``autocast`` is a dtype. With
    ``cards`` it is one of them (``rank``), which train in a ``way`` of ``mindtorch plan``."""
    device = device or registry.accelerator().type
    if cards > 1 and way == ALONE:
        way = "ddp"
    if not 0 <= rank < cards:
        raise ValueError(f"rank is {rank}, expected one of 0 to {cards - 1}")
    case = _checked(Case(way, cards, checkpointing, dtype, optimizer, tensor_parallel, device, autocast))

    def of(size: int | None) -> Estimate:
        subject = Subject("the model", build if size is None else lambda: build(batch=size))
        many = nullcontext() if way == ALONE else one_of_many(cards, rank)

        def run() -> None:
            training = Training(subject, case, "meta")
            for _ in range(STEPS):
                training.step()
                training.settle()

        with many:
            return peak_of(run, device, conf, capacity, rank=rank, cards=cards, batch=size, gpu=gpu)

    if batch != "auto":
        if isinstance(batch, str) or (batch is not None and batch < 1):
            raise ValueError(f"batch is {batch!r}, expected a positive number or 'auto'")
        return of(batch)
    if capacity is None:
        raise ValueError("batch 'auto' is the largest that fits into a capacity: give one, such as '32GiB'")
    return _largest(of)


def _largest(of: Callable[[int | None], Estimate]) -> Estimate:
    """Of the batches that fit; if none does, what one sample needs."""
    best = of(1)
    if not best.fits:
        return best
    low, high = 1, 2
    while high <= LARGEST_BATCH and (found := of(high)).fits:
        low, best, high = high, found, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        found = of(middle)
        if found.fits:
            low, best = middle, found
        else:
            high = middle
    return best
