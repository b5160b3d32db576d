"""Recurrent networks, layer by layer. PyTorch has these as operators of its core, not of nn.functional."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

from .dropout import dropout
from .linear import linear

# One step: the input's part of the gates, the state before (its first tensor is the hidden one), what the layer
# has for its hidden state (see `prepared`) -> the state after.
State = tuple[Tensor, ...]
Hidden = tuple[Tensor, Tensor | None, Tensor | None]
Step = Callable[[Tensor, State, Hidden], State]


def _parts(gates: Tensor, count: int) -> tuple[Tensor, ...]:
    return gates.unflatten(1, (count, -1)).unbind(1)


def _lstm_step(gates: Tensor, state: State, own: Hidden) -> State:
    hidden, cell = state
    weight, _, projection = own
    into, forget, fresh, out = _parts(torch.addmm(gates, hidden, weight), 4)
    cell = torch.addcmul(forget.sigmoid() * cell, into.sigmoid(), fresh.tanh())
    hidden = out.sigmoid() * cell.tanh()
    return (hidden if projection is None else linear(hidden, projection)), cell


def _gru_step(gates: Tensor, state: State, own: Hidden) -> State:
    (hidden,) = state
    weight, bias, _ = own
    reset, update, fresh = _parts(gates, 3)
    ours = hidden.mm(weight) if bias is None else torch.addmm(bias, hidden, weight)
    our_reset, our_update, our_fresh = _parts(ours, 3)
    new = torch.addcmul(fresh, (reset + our_reset).sigmoid(), our_fresh).tanh()
    return (torch.addcmul(new, hidden - new, (update + our_update).sigmoid()),)


def _tanh_step(gates: Tensor, state: State, own: Hidden) -> State:
    return (torch.addmm(gates, state[0], own[0]).tanh(),)


def _relu_step(gates: Tensor, state: State, own: Hidden) -> State:
    return (torch.addmm(gates, state[0], own[0]).relu(),)


STEPS: dict[str, Step] = {
    "LSTM": _lstm_step,
    "GRU": _gru_step,
    "RNN_TANH": _tanh_step,
    "RNN_RELU": _relu_step,
}


def prepared(mode: str, input: Tensor, weights: Sequence[Any]) -> tuple[Tensor, Hidden]:
    """What is the same for all steps: the input's part of the gates, and the layer's own for the hidden state.

    A GRU multiplies a part of the hidden state's gates, so there its bias stays apart; elsewhere the two biases
    are one.
    """
    weight, hidden_weight, bias, hidden_bias, projection = weights
    if mode != "GRU" and bias is not None:
        bias, hidden_bias = bias + hidden_bias, None
    return linear(input, weight, bias), (hidden_weight.t(), hidden_bias, projection)


def _run_padded(step: Step, gates: Tensor, state: State, own: Hidden, reverse: bool) -> tuple[Tensor, State]:
    """All steps of (T, B, …) in one direction: the outputs and the last state."""
    outputs = []
    steps = gates.unbind(0)
    for now in reversed(steps) if reverse else steps:
        state = step(now, state, own)
        outputs.append(state[0])
    return torch.stack(outputs[::-1] if reverse else outputs), state


def _run_packed(
    step: Step, gates: Tensor, state: State, own: Hidden, sizes: list[int]
) -> tuple[Tensor, State]:
    """As `_run_padded` over a packed sequence, whose batch gets smaller as sequences end."""
    outputs = []
    ended: list[State] = []
    for now, size in zip(gates.split(sizes), sizes, strict=True):
        if size < state[0].size(0):
            ended.append(tuple(s[size:] for s in state))
            state = tuple(s[:size] for s in state)
        state = step(now, state, own)
        outputs.append(state[0])
    ended.append(state)
    last = tuple(torch.cat(parts[::-1]) for parts in zip(*ended, strict=True))
    return torch.cat(outputs), last


def _run_packed_backwards(
    step: Step, gates: Tensor, start: State, own: Hidden, sizes: list[int]
) -> tuple[Tensor, State]:
    """From the last step to the first: sequences join as they begin, each with its own first state."""
    outputs = []
    state = tuple(s[: sizes[-1]] for s in start)
    for now, size in zip(reversed(gates.split(sizes)), reversed(sizes), strict=True):
        running = state[0].size(0)
        if size > running:
            state = tuple(torch.cat([s, first[running:size]]) for s, first in zip(state, start, strict=True))
        state = step(now, state, own)
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
            gates, own = prepared(mode, input, weights[place])
            start = tuple(s[place] for s in state)
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
