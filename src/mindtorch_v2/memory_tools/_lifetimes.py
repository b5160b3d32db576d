"""Allocations with their beginning and end, and what they were for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy

from . import _model as m

CATEGORIES = (
    "parameters", "gradients", "optimizer state", "activations", "temporaries", "communication", "unknown",
)  # fmt: skip
PARAMETERS, GRADIENTS, OPTIMIZER, ACTIVATIONS, TEMPORARIES, COMMUNICATION, UNKNOWN = range(7)


@dataclass
class Lifetimes:
    """Columns, one row for each block: those from before the history first. Event -1: before it; the number of events:
    it is still there."""

    address: Any
    size: Any
    stack: Any
    begin: Any
    end: Any
    category: Any
    free_stack: Any  # 0: it was not freed, or nobody wrote down where

    def __len__(self) -> int:
        return len(self.address)


def lifetimes(snapshot: m.Snapshot, device: m.Device) -> Lifetimes:
    """Every block that the history or the state at its end knows of."""
    history = device.history
    count = len(history)
    rows: list[list[int]] = []
    at: dict[int, int] = {}  # the row of the live block at an address
    before: list[list[int]] = []
    freed_at: dict[int, int] = {}
    columns = (history.action, history.address, history.size, history.stack)
    for index, (action, address, size, stack) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
        if action == m.ALLOC:
            at[address] = len(rows)
            rows.append([address, size, stack, index, count, 0])
            freed_at.pop(address, None)
        elif action == m.FREE_REQUESTED:
            freed_at[address] = stack
        elif action == m.FREE_COMPLETED:
            row = at.pop(address, None)
            why = freed_at.pop(address, 0) or stack
            if row is None:
                before.append([address, size, 0, -1, index, why])
            else:
                rows[row][4], rows[row][5] = index, why
    for segment in device.segments:
        for block in segment.blocks:
            if not block.is_live:
                continue
            row = at.get(block.address)
            if row is None:
                before.append([block.address, block.requested or block.size, block.stack, -1, count, 0])
            elif not rows[row][2]:
                rows[row][2] = block.stack
    table = numpy.array(before + rows, dtype=numpy.int64).reshape(len(before) + len(rows), 6)
    found = Lifetimes(
        table[:, 0],
        table[:, 1],
        table[:, 2],
        table[:, 3],
        table[:, 4],
        numpy.zeros(0, numpy.int64),
        table[:, 5],
    )
    found.category = _categories(snapshot, device, found)
    return found


# --- categories ---------------------------------------------------------------------------------------------

_PHASES = FORWARD, BACKWARD, STEP, MAKING, SENDING, NO_PHASE = range(6)


def _phase(stack: m.Stack) -> int:
    """What the program was doing, by the functions on its stack, outermost decision first."""
    if not stack:
        return NO_PHASE
    phase = NO_PHASE
    for frame in reversed(stack):
        file, name = frame.file.replace("\\", "/"), frame.function
        if "/distributed/" in file or "c10d::" in name or "nccl" in name.lower() or "hccl" in name.lower():
            return SENDING
        if ("/optim/" in file and name in _OPTIMIZER_STEPS) or "::optim::" in name:
            return STEP
        if ("/autograd/" in file and name in _BACKWARDS) or (
            file.endswith("_tensor.py") and name == "backward"
        ):
            return BACKWARD
        if "autograd::engine" in name.lower() or (not file and _NODE.fullmatch(name)):
            return BACKWARD
        if (
            "/nn/modules/" in file
            or "/nn/init.py" in file
            or "/nn/parameter" in file
            or "/nn/_parameter" in file
        ):
            if name in _MAKING or "/nn/init.py" in file or name.startswith("reset_parameters"):
                return MAKING
            phase = FORWARD
        elif name in ("forward", "_call_impl", "__call__") or "/nn/functional" in file:
            phase = FORWARD
    return phase


_NODE = re.compile(r"\w*Backward\d*|AccumulateGrad")  # a node of a history, where a frame has no file
_OPTIMIZER_STEPS = {"step", "_init_group", "_step", "wrapper", "profile_hook_step"}
_BACKWARDS = {"backward", "grad", "_engine_run_backward", "run_backward"}
_MAKING = {
    "__init__",
    "_apply",
    "to",
    "cuda",
    "npu",
    "half",
    "bfloat16",
    "float",
    "double",
    "to_empty",
    "_load_from_state_dict",
}


def _categories(snapshot: m.Snapshot, device: m.Device, found: Lifetimes) -> Any:
    """By the file's own word where it has one, else by where a block was made and where it ended: what forward makes
    and backward frees was saved for it, what backward makes and leaves is a gradient. The rest is unknown."""
    phases = numpy.array([_phase(stack) for stack in snapshot.stacks], dtype=numpy.int64)
    if snapshot.maker == "PyTorch" and len(device.history) and (device.history.stack != 0).mean() > 0.2:
        phases[0] = (
            BACKWARD  # its backward runs in a thread without Python, which is the only one without a stack
        )
    made, freed = phases[found.stack], phases[found.free_stack]
    stays = found.end == len(device.history)
    result = numpy.full(len(found), UNKNOWN, dtype=numpy.int64)
    result[made == SENDING] = COMMUNICATION
    result[made == MAKING] = PARAMETERS
    result[(made == STEP) & stays] = OPTIMIZER
    result[(made == STEP) & ~stays] = TEMPORARIES
    forward = (made == FORWARD) | ((made == NO_PHASE) & (found.stack != 0))
    result[forward & ~stays & (freed == BACKWARD)] = ACTIVATIONS
    result[(made == FORWARD) & ~stays & (freed != BACKWARD)] = TEMPORARIES
    backward = made == BACKWARD
    result[backward & ~stays & (freed == BACKWARD)] = TEMPORARIES
    result[backward & (stays | (freed != BACKWARD))] = GRADIENTS
    result[(found.begin == -1) & (found.stack == 0)] = UNKNOWN
    _apply_own_words(snapshot, device, found, result)
    return result


def _apply_own_words(snapshot: m.Snapshot, device: m.Device, found: Lifetimes, result: Any) -> None:
    if not snapshot.categories:
        return
    numbers = numpy.array([_own_word(name) for name in snapshot.categories], dtype=numpy.int64)
    within = found.begin >= 0
    said = device.history.category[found.begin[within]]
    chosen = numpy.where(said >= 0, numbers[said], -1)
    result[within] = numpy.where(chosen >= 0, chosen, result[within])


def _own_word(name: str) -> int:
    """The category that another tool's word means; -1 for none of ours."""
    lowered = name.lower().replace("_", " ")
    for word, number in _WORDS.items():
        if word in lowered:
            return number
    return -1


_WORDS = {
    "param": PARAMETERS, "grad": GRADIENTS, "optim": OPTIMIZER, "activ": ACTIVATIONS, "autograd": ACTIVATIONS,
    "temp": TEMPORARIES, "comm": COMMUNICATION,
}  # fmt: skip
