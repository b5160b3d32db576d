"""Recurrent cells."""

import torch

from .harness import FLOATS_AND_DOUBLE, OUT, case
from .reference import gradients, rounded, wide


def _cell(gates, state):
    i, f, g, o = gates.chunk(4, 1)
    kept = (i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid())
    after = kept[1] * state + kept[0] * kept[2]
    return kept[3] * after.tanh(), after, torch.cat(kept, 1)


@case("aclnnThnnFusedLstmCell", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def one_step_of_an_lstm(make):
    x, h, state, a, b = make(3, 8), make(3, 8), make(3, 2), make(8), make(8)
    for first, second in ((None, None), (a, b)):
        gates = wide(x) + wide(h) + (0 if first is None else wide(first) + wide(second))
        yield [x, h, state, first, second, OUT, OUT, OUT], rounded(_cell(gates, wide(state)), make.dtype)


@case("aclnnThnnFusedLstmCellBackward", dtypes=FLOATS_AND_DOUBLE, tolerance=16)
def the_gradients_of_one_step_of_an_lstm(make):
    gates, state, dh, dc = make(3, 8, low=-1, high=1), make(3, 2), make(3, 2), make(3, 2)
    _, after, kept = rounded(_cell(wide(gates), wide(state)), make.dtype)
    for hidden, cell in ((dh, dc), (dh, None), (None, dc)):
        grads = [torch.zeros(3, 2) if g is None else g for g in (hidden, cell)]

        def weighted(gates, state, grads=grads):
            made = _cell(gates, state)
            return (made[0] * wide(grads[0]) + made[1] * wide(grads[1])).sum()

        one = torch.ones((), dtype=torch.float64)
        to_gates, to_state = gradients(weighted, one, gates, state, dtype=torch.float64)
        wanted = rounded((to_gates, to_state, to_gates.sum(0)), make.dtype)
        yield [hidden, cell, state, after, kept, True, OUT, OUT, OUT], wanted
