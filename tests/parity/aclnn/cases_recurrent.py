"""Recurrent cells, and layers of them."""

from functools import partial

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


# ---- layers: steps of sequences whose number falls, padded, [T, B, …] ---------------------------------

STEPS, BATCH, INPUTS, WIDTH = 3, 4, 5, 2
HALF_AND_SINGLE = (torch.float32, torch.float16)
GATES = {"LSTM": 4, "GRU": 3}


def _params(make, kind, layers, directions, bias):
    shapes = []
    for layer in range(layers):
        inputs = INPUTS if layer == 0 else directions * WIDTH
        rows = GATES[kind] * WIDTH
        shapes += [(rows, inputs), (rows, WIDTH), *([(rows,), (rows,)] if bias else [])] * directions
    return [make(*shape, low=-1, high=1) for shape in shapes]


def _step(kind, x, h, c, ih, hh, b_ih, b_hh):
    """The states after a step and what the gates were, in the operators' order."""
    left, right = x @ ih.T + b_ih, h @ hh.T + b_hh
    if kind == "LSTM":
        i, f, g, o = (left + right).chunk(4, 1)
        i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
        after = f * c + i * g
        return o * after.tanh(), after, (i, g, f, o, o * after.tanh(), after, after.tanh())
    (lr, lz, ln), (hr, hz, hn) = left.chunk(3, 1), right.chunk(3, 1)
    r, z = (lr + hr).sigmoid(), (lz + hz).sigmoid()
    n = (ln + r * hn).tanh()
    after = (1 - z) * n + z * h
    return after, c, (r, z, n, hn, after)


def _layers(kind, x, params, hx, rows, layers, directions, bias):
    """Output, the last states, and a list for each thing that is kept."""
    kept, last = [], []
    for layer in range(layers):
        sides = []
        for side in range(directions):
            index = layer * directions + side
            own = params[index * (4 if bias else 2) :][: 4 if bias else 2]
            own = own if bias else [*own, 0.0, 0.0]
            h, c = hx[0][index], hx[-1][index]
            steps = [None] * STEPS
            for t in reversed(range(STEPS)) if side else range(STEPS):
                n = rows[t]
                new_h, new_c, values = _step(kind, x[t, :n], h[:n], c[:n], *own)
                h, c = torch.cat([new_h, h[n:]]), torch.cat([new_c, c[n:]])
                steps[t] = [torch.cat([v, torch.zeros(BATCH - n, WIDTH, dtype=v.dtype)]) for v in values]
            kept.append([torch.stack([step[i] for step in steps]) for i in range(len(steps[0]))])
            last.append((h, c))
            sides.append(kept[-1][4])
        x = torch.cat(sides, -1)
    hidden, cell = (torch.stack(list(states)) for states in zip(*last, strict=True))
    return x, hidden, cell, [list(lists) for lists in zip(*kept, strict=True)]


_FORMS = [  # layers, directions, bias, batch first, rows of each step (None: all)
    (1, 1, True, False, None),
    (2, 2, True, True, None),
    (2, 1, False, False, None),
    (2, 2, True, False, [4, 3, 1]),
]


def _padded_rows(t, rows):
    """As the operators take sequences of several lengths: [T * B, …]."""
    return t if rows is None else t.flatten(0, 1)


@case("aclnnLSTM", "aclnnGRU", dtypes=HALF_AND_SINGLE, tolerance=8)
def recurrent_layers(make, operator):
    kind = operator.removeprefix("aclnn")
    for layers, directions, bias, batch_first, rows in _FORMS:
        x, params = make(STEPS, BATCH, INPUTS), _params(make, kind, layers, directions, bias)
        hx = [make(layers * directions, BATCH, WIDTH) for _ in range(2 if kind == "LSTM" else 1)]
        made = _layers(
            kind, wide(x), [wide(p) for p in params], [wide(h) for h in hx], rows or [BATCH] * STEPS,
            layers, directions, bias,
        )  # fmt: skip
        output, hidden, cell, kept = made
        output = output.transpose(0, 1) if batch_first else output
        given = x.transpose(0, 1) if batch_first else _padded_rows(x, rows)
        lengths = None if rows is None else torch.tensor(rows)
        states = [hidden, cell] if kind == "LSTM" else [hidden]
        start = [given, params, hx if kind == "LSTM" else hx[0], lengths, bias, layers, 0.0]
        lists = [[OUT] * len(part) for part in kept]
        wanted = rounded([output, *states, *(t for part in kept for t in part)], make.dtype)
        yield [*start, True, directions == 2, batch_first, OUT, *([OUT] * len(states)), *lists], wanted
        yield (
            [
                *start,
                False,
                directions == 2,
                batch_first,
                OUT,
                *([OUT] * len(states)),
                *([None] * len(lists)),
            ],
            wanted[: 1 + len(states)],
        )


@case("aclnnLstmBackward", "aclnnGRUBackward", dtypes=HALF_AND_SINGLE, tolerance=32)
def the_gradients_of_recurrent_layers(make, operator):
    kind = "LSTM" if operator == "aclnnLstmBackward" else "GRU"
    for layers, directions, bias, batch_first, rows in _FORMS:
        count = layers * directions
        x, params = make(STEPS, BATCH, INPUTS), _params(make, kind, layers, directions, bias)
        hx = [make(count, BATCH, WIDTH) for _ in range(2 if kind == "LSTM" else 1)]
        used = torch.ones(STEPS, BATCH, 1)
        for t, n in enumerate(rows or []):
            used[t, n:] = 0
        dy = make(STEPS, BATCH, directions * WIDTH) * used.to(make.dtype)
        dlast = [make(count, BATCH, WIDTH) for _ in hx]
        leaves = [wide(t).detach().requires_grad_() for t in (x, *hx, *params)]
        output, hidden, cell, kept = _layers(
            kind, leaves[0], leaves[1 + len(hx) :], leaves[1 : 1 + len(hx)], rows or [BATCH] * STEPS,
            layers, directions, bias,
        )  # fmt: skip
        results = [output, hidden, cell][: 1 + len(hx)]
        to = rounded(torch.autograd.grad(results, leaves, [wide(dy), *map(wide, dlast)]), make.dtype)
        lists = [list(rounded([t.detach() for t in part], make.dtype)) for part in kept]
        turn = partial(torch.transpose, dim0=0, dim1=1) if batch_first else partial(_padded_rows, rows=rows)
        lengths = None if rows is None else torch.tensor(rows)
        states = [hx, params] if kind == "LSTM" else [params, hx[0]]
        options = [bias, layers, 0.0, True] if kind == "LSTM" else [bias, layers]
        options += [directions == 2, batch_first, *([None] if kind == "LSTM" else [])]
        given = [turn(x), *states, turn(dy), *dlast, *lists, lengths, *options]
        yield [*given, OUT, *([OUT] * len(hx)), [OUT] * len(params)], (turn(to[0]), *to[1:])
