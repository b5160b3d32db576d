"""Recurrent networks, layer by layer. PyTorch has these as operators of its core, not of nn.functional."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

from .dropout import dropout
from .linear import linear

# One step: the input's part of the gates, the state before (its first tensor is the hidden one), the weights of
# the hidden state -> the state after.
State = tuple[Tensor, ...]
Step = Callable[[Tensor, State, Sequence[Any]], State]


def _lstm_step(gates: Tensor, state: State, weights: Sequence[Any]) -> State:
    """``weights``: those of the hidden state, their bias or None, and the projection or None."""
    hidden, cell = state
    weight, bias, projection = weights
    into, forget, fresh, out = (gates + linear(hidden, weight, bias)).chunk(4, 1)
    cell = forget.sigmoid() * cell + into.sigmoid() * fresh.tanh()
    hidden = out.sigmoid() * cell.tanh()
    return (hidden if projection is None else linear(hidden, projection)), cell


def _gru_step(gates: Tensor, state: State, weights: Sequence[Any]) -> State:
    (hidden,) = state
    weight, bias, _ = weights
    reset, update, fresh = gates.chunk(3, 1)
    hidden_reset, hidden_update, hidden_fresh = linear(hidden, weight, bias).chunk(3, 1)
    new = (fresh + (reset + hidden_reset).sigmoid() * hidden_fresh).tanh()
    return ((hidden - new) * (update + hidden_update).sigmoid() + new,)


def _tanh_step(gates: Tensor, state: State, weights: Sequence[Any]) -> State:
    return ((gates + linear(state[0], weights[0], weights[1])).tanh(),)


def _relu_step(gates: Tensor, state: State, weights: Sequence[Any]) -> State:
    return ((gates + linear(state[0], weights[0], weights[1])).relu(),)


STEPS: dict[str, Step] = {
    "LSTM": _lstm_step,
    "GRU": _gru_step,
    "RNN_TANH": _tanh_step,
    "RNN_RELU": _relu_step,
}


def _run_padded(
    step: Step, gates: Tensor, state: State, weights: Sequence[Any], reverse: bool
) -> tuple[Tensor, State]:
    """All steps of (T, B, …) in one direction: the outputs and the last state."""
    outputs = []
    steps = gates.unbind(0)
    for now in reversed(steps) if reverse else steps:
        state = step(now, state, weights)
        outputs.append(state[0])
    return torch.stack(outputs[::-1] if reverse else outputs), state


def _run_packed(
    step: Step, gates: Tensor, state: State, weights: Sequence[Any], sizes: list[int]
) -> tuple[Tensor, State]:
    """As `_run_padded` over a packed sequence, whose batch gets smaller as sequences end."""
    outputs = []
    ended: list[State] = []
    for now, size in zip(gates.split(sizes), sizes, strict=True):
        if size < state[0].size(0):
            ended.append(tuple(s[size:] for s in state))
            state = tuple(s[:size] for s in state)
        state = step(now, state, weights)
        outputs.append(state[0])
    ended.append(state)
    last = tuple(torch.cat(parts[::-1]) for parts in zip(*ended, strict=True))
    return torch.cat(outputs), last


def _run_packed_backwards(
    step: Step, gates: Tensor, start: State, weights: Sequence[Any], sizes: list[int]
) -> tuple[Tensor, State]:
    """From the last step to the first: sequences join as they begin, each with its own first state."""
    outputs = []
    state = tuple(s[: sizes[-1]] for s in start)
    for now, size in zip(reversed(gates.split(sizes)), reversed(sizes), strict=True):
        running = state[0].size(0)
        if size > running:
            state = tuple(torch.cat([s, first[running:size]]) for s, first in zip(state, start, strict=True))
        state = step(now, state, weights)
        outputs.append(state[0])
    return torch.cat(outputs[::-1]), state


def recurrent(
    mode: str,
    input: Tensor,
    state: State,
    weights: Sequence[Sequence[Any]],
    *,
    bidirectional: bool,
    dropout_p: float,
    training: bool,
    sizes: list[int] | None,
) -> tuple[Tensor, State]:
    """Layers of a recurrent network over (T, B, …), or over packed data whose batch sizes are ``sizes``.

    ``state`` has (layers * directions, B, …) tensors. ``weights``: for every layer and direction the weight of
    the input, the weight of the hidden state, their biases or None twice, and the projection or None.
    """
    step = STEPS[mode]
    directions = 2 if bidirectional else 1
    last: list[State] = []
    for layer in range(len(weights) // directions):
        outputs = []
        for direction in range(directions):
            place = layer * directions + direction
            weight, hidden_weight, bias, hidden_bias, projection = weights[place]
            own = hidden_weight, hidden_bias, projection
            start = tuple(s[place] for s in state)
            gates = linear(input, weight, bias)
            if sizes is None:
                made, end = _run_padded(step, gates, start, own, reverse=direction == 1)
            elif direction == 0:
                made, end = _run_packed(step, gates, start, own, sizes)
            else:
                made, end = _run_packed_backwards(step, gates, start, own, sizes)
            outputs.append(made)
            last.append(end)
        input = outputs[0] if directions == 1 else torch.cat(outputs, -1)
        if dropout_p and training and place + 1 < len(weights):
            input = dropout(input, dropout_p)
    return input, tuple(torch.stack(parts) for parts in zip(*last, strict=True))
