"""Mixtures of experts: which experts a token goes to, its way there and back."""

import torch

from .harness import FLOATS, OUT, case
from .reference import exact, gradients, wide

TOKENS, EXPERTS, CHOICES, WIDTH = 6, 8, 3, 4


def _int(tensor):
    return tensor.to(torch.int32)


def _best(scores, k):
    return torch.sort(scores, dim=-1, stable=True, descending=True).indices[..., :k]


@case("aclnnMoeGatingTopKSoftmax", dtypes=FLOATS)
def the_largest_shares_of_a_softmax(make):
    for shape in ((TOKENS, EXPERTS), (2, 3, EXPERTS)):
        x = make(*shape)
        share = wide(x).softmax(-1)
        best = _best(share, CHOICES)
        rows = torch.arange(CHOICES * TOKENS).view(CHOICES, TOKENS).T.reshape(best.shape)
        finished = torch.rand(shape[:-1], generator=make.generator) < 0.4
        weights = share.gather(-1, best).to(make.dtype)
        yield [x, None, CHOICES, OUT, OUT, OUT], (weights, _int(best), _int(rows))
        chosen = torch.where(finished[..., None], EXPERTS, best)
        yield [x, finished, CHOICES, OUT, OUT, OUT], (weights, _int(chosen), _int(rows))


@case("aclnnMoeGatingTopKSoftmaxV2", dtypes=FLOATS)
def the_largest_before_or_after_a_softmax(make):
    x = make(TOKENS, EXPERTS)
    share = wide(x).softmax(-1)
    best = _best(share, CHOICES)
    weights = share.gather(-1, best).to(make.dtype)
    yield [x, None, CHOICES, 0, False, OUT, OUT, None], (weights, _int(best))
    yield [x, None, CHOICES, 0, True, OUT, OUT, OUT], (weights, _int(best), share.float())
    again = wide(x).gather(-1, best).softmax(-1).to(make.dtype)
    yield [x, None, CHOICES, 1, False, OUT, OUT, None], (again, _int(best))


@case("aclnnMoeGatingTopK", "aclnnMoeGatingTopKV2", dtypes=FLOATS)
def the_best_experts_of_the_best_groups(make, operator):
    x, bias = make(TOKENS, EXPERTS), make(EXPERTS, low=-0.2, high=0.2)
    extra = [None, None] if operator.endswith("V2") else []
    for norm, added, groups, wanted, mode, renorm in (
        (0, None, 1, 1, 0, 0),
        (0, bias, 4, 2, 0, 1),
        (1, bias, 4, 2, 1, 0),
        (1, None, 2, 1, 0, 0),
    ):
        share = wide(x).softmax(-1) if norm == 0 else wide(x).sigmoid()
        rank = share if added is None else share + wide(added)
        if groups > 1:
            parts = rank.view(TOKENS, groups, -1)
            value = parts.amax(-1) if mode == 0 else parts.topk(2).values.sum(-1)
            kept = torch.zeros(TOKENS, groups, dtype=torch.bool).scatter(1, _best(value, wanted), True)
            rank = parts.masked_fill(~kept[..., None], -torch.inf).flatten(1)
        best = _best(rank, CHOICES)
        weights = share.gather(-1, best)
        if norm == 1 or renorm == 1:
            weights = weights / (weights.sum(-1, keepdim=True) + 1e-3)
        yield (
            [x, added, *extra, CHOICES, wanted, groups, mode, renorm, norm, True, 2.5, 1e-3, OUT, OUT, OUT],
            ((weights * 2.5).to(make.dtype), _int(best), share.float()),
        )


def _experts(make):
    return torch.stack([torch.randperm(EXPERTS, generator=make.generator)[:CHOICES] for _ in range(TOKENS)])


@case("aclnnMoeInitRouting", dtypes=FLOATS)
def rows_by_expert_from_places_by_column(make):
    x, experts = make(TOKENS, WIDTH), _experts(make)
    places = torch.arange(CHOICES * TOKENS).view(CHOICES, TOKENS).T.contiguous()
    order = experts.flatten().argsort(stable=True)
    source = places.flatten()[order]
    index = torch.empty_like(source)
    index[source] = torch.arange(len(source))
    for active in (TOKENS, 2, 100):
        rows = source[: min(active, TOKENS) * CHOICES] % TOKENS
        yield (
            [x, _int(places), _int(experts), active, OUT, OUT, OUT],
            (x[rows], _int(index), _int(experts.flatten()[order])),
        )


def _inverse(order):
    index = torch.empty_like(order)
    index[order] = torch.arange(len(order))
    return index


def _with_capacity(x, experts, capacity):
    rows = torch.zeros(EXPERTS, capacity, WIDTH, dtype=x.dtype)
    index, taken = torch.full((experts.numel(),), -1), [0] * EXPERTS
    for place in experts.flatten().argsort(stable=True).tolist():
        expert = int(experts.flatten()[place])
        if taken[expert] < capacity:
            index[place] = expert * capacity + taken[expert]
            rows[expert, taken[expert]] = x[place // CHOICES]
        taken[expert] += 1
    return rows, index, torch.tensor(taken)


@case("aclnnMoeInitRoutingV2", dtypes=FLOATS)
def rows_by_expert(make):
    x, experts = make(TOKENS, WIDTH), _experts(make)
    order = experts.flatten().argsort(stable=True)
    index, counts = _int(_inverse(order)), experts.flatten().bincount(minlength=EXPERTS)
    given = [x, _int(experts)]
    yield [*given, 0, 0, 0, 0, 0, False, OUT, OUT, None, None], (x[order // CHOICES], index)
    yield [*given, 5, 0, 0, 0, 0, False, OUT, OUT, None, None], (x[order[:5] // CHOICES], index)
    yield (
        [*given, 0, 0, EXPERTS, 0, 1, False, OUT, OUT, OUT, None],
        (x[order // CHOICES], index, _int(counts.cumsum(0))),
    )
    yield (
        [*given, 0, 0, EXPERTS, 0, 2, False, OUT, OUT, OUT, None],
        (x[order // CHOICES], index, _int(counts)),
    )
    rows, places, taken = _with_capacity(x, experts, 2)
    yield (
        [*given, 0, 2, EXPERTS, 1, 0, True, OUT, OUT, None, OUT],
        (rows, _int(places), _int(taken)),
    )


@case("aclnnMoeInitRoutingV3", dtypes=FLOATS)
def rows_of_some_experts_also_quantised(make):
    x, experts = make(TOKENS, WIDTH), _experts(make)
    order = experts.flatten().argsort(stable=True)
    index, counts = _int(_inverse(order)), experts.flatten().bincount(minlength=EXPERTS)
    given, total = [x, _int(experts)], TOKENS * CHOICES

    def call(scale, offset, *more):
        return [*given, scale, offset, total, 0, EXPERTS, 0, *more]

    yield (
        call(None, None, 1, True, -1, [0, EXPERTS], 0, OUT, OUT, OUT, None),
        (x[order // CHOICES], index, counts),
    )
    per_token = torch.arange(TOKENS) + 0.5
    yield (
        call(per_token, None, 0, True, -1, [0, EXPERTS], 1, OUT, OUT, OUT, OUT),
        (x[order // CHOICES], _int(order), counts.cumsum(0), per_token[order // CHOICES]),
    )
    some = [p for p in order.tolist() if 2 <= experts.flatten()[p] < 5]
    rows = torch.zeros(total, WIDTH, dtype=x.dtype)
    rows[: len(some)] = x[torch.tensor(some) // CHOICES]
    places = torch.full((total,), -1)
    places[torch.tensor(some)] = torch.arange(len(some))
    yield call(None, None, 1, True, -1, [2, 5], 0, OUT, OUT, OUT, None), (rows, _int(places), counts[2:5])
    pairs = torch.zeros(EXPERTS, 2, dtype=torch.int64)
    for i, expert in enumerate(e for e in range(EXPERTS) if counts[e] > 0):
        pairs[i] = torch.tensor([expert, counts[expert]])
    yield (
        call(None, None, 2, True, -1, [0, EXPERTS], 0, OUT, OUT, OUT, None),
        (x[order // CHOICES], index, pairs),
    )
    padded, places, taken = _with_capacity(x, experts, 2)
    yield (
        [*given, None, None, total, 2, EXPERTS, 1, 1, True, -1, [0, EXPERTS], 0, OUT, OUT, OUT, None],
        (padded, _int(places), taken),
    )
    fixed = (x.float() * 20 + 3).round().clamp(-128, 127).to(torch.int8)
    yield (
        call(torch.tensor([20.0]), torch.tensor([3.0]), 1, True, 0, [0, EXPERTS], 0, OUT, OUT, OUT, None),
        (fixed[order // CHOICES], index, counts),
    )
    smooth = torch.rand(EXPERTS, WIDTH, generator=make.generator) + 0.5
    spread = x.float()[order // CHOICES] * smooth[experts.flatten()[order]]
    step = spread.abs().amax(-1) / 127
    yield (
        call(smooth, None, 1, True, 1, [0, EXPERTS], 0, OUT, OUT, OUT, OUT),
        ((spread / step[:, None]).round().to(torch.int8), index, counts, step),
    )


@case(
    "aclnnMoeFinalizeRouting",
    "aclnnMoeFinalizeRoutingV2",
    "aclnnMoeFinalizeRoutingV4",
    dtypes=FLOATS,
    tolerance=8,
)
def rows_put_together(make, operator):
    experts, scales = _experts(make), make(TOKENS, CHOICES, low=0)
    rows, x1, x2, bias = (
        make(TOKENS * CHOICES, WIDTH),
        make(TOKENS, WIDTH),
        make(TOKENS, WIDTH),
        make(EXPERTS, WIDTH),
    )
    by_row = torch.randperm(TOKENS * CHOICES, generator=make.generator)

    def together(index, first, second, added):
        parts = torch.cat([wide(rows), torch.zeros(1, WIDTH)])[index].view(TOKENS, CHOICES, WIDTH)
        if added is not None:
            parts = parts + wide(added)[experts]
        out = (parts * wide(scales)[..., None]).sum(1)
        return (out + sum(wide(x) for x in (first, second) if x is not None)).to(make.dtype)

    by_column = by_row.view(TOKENS, CHOICES).T.flatten()
    if operator == "aclnnMoeFinalizeRouting":
        given = [rows, x1, x2, bias, scales, _int(by_column), _int(experts)]
        yield [*given, OUT], together(by_row, x1, x2, bias)
        given[2] = None
        yield [*given, OUT], together(by_row, x1, None, bias)
        return
    later = operator.endswith("V4")

    def call(rows, index, first, second, added, chosen, mode):
        more = ([None] * 4, [None] * 3 + [CHOICES]) if later else ([], [])
        return [rows, _int(index), first, second, added, scales, chosen, *more[0], mode, *more[1], OUT]

    yield call(rows, by_row, None, None, None, None, 2), together(by_row, None, None, None)
    yield call(rows, by_column, x1, x2, bias, _int(experts), 0), together(by_row, x1, x2, bias)
    dropped = by_row.clone()
    dropped[::4] = -1
    yield call(rows.view(3, -1, WIDTH), dropped, x1, None, None, None, 3), together(dropped, x1, None, None)


@case("aclnnMoeComputeExpertTokens", dtypes=(torch.int32,))
def ends_of_the_rows_of_experts(make):
    experts = make(20, low=0, high=EXPERTS - 3).sort().values
    yield [experts, EXPERTS, OUT], _int(experts.bincount(minlength=EXPERTS).cumsum(0))


@case("aclnnMoeReRouting", dtypes=(*FLOATS, torch.int8))
def rows_of_ranks_laid_out_by_expert(make):
    counts = torch.tensor([[2, 0, 3], [1, 2, 0]])
    x = make(8, WIDTH)
    owners = torch.arange(3).repeat(2).repeat_interleave(counts.flatten())
    order = owners.argsort(stable=True)
    scales = torch.arange(8) + 0.25
    yield [x, counts, None, 1, 0, OUT, None, OUT, OUT], (x[order], _int(order), counts.sum(0))
    yield (
        [x, counts, scales, 1, 0, OUT, OUT, OUT, OUT],
        (x[order], scales[order], _int(order), counts.sum(0)),
    )


@case("aclnnMoeTokenPermute", dtypes=FLOATS)
def tokens_sorted_by_expert(make):
    x, experts = make(TOKENS, WIDTH), _experts(make)
    order = experts.flatten().argsort(stable=True)
    places = _int(_inverse(order))
    for dtype in (torch.int64, torch.int32):
        yield [x, experts.to(dtype), 0, False, OUT, OUT], (x[order // CHOICES], places)
    yield [x, experts, 7, False, OUT, OUT], (x[order[:7] // CHOICES], places)
    one = experts[:, 0]
    yield (
        [x, one, 0, False, OUT, OUT],
        (x[one.argsort(stable=True)], _int(_inverse(one.argsort(stable=True)))),
    )


def _unpermute(rows, places, probs):
    parts = torch.cat([rows, torch.zeros(1, WIDTH, dtype=rows.dtype)])[places.clamp(max=len(rows)).long()]
    if probs is None:
        return parts
    return (parts.view(TOKENS, CHOICES, WIDTH) * probs[..., None]).sum(1)


@case("aclnnMoeTokenPermuteGrad", dtypes=FLOATS, tolerance=4)
def the_gradient_of_tokens_sorted(make):
    places = torch.randperm(TOKENS * CHOICES, generator=make.generator)
    for rows in (TOKENS * CHOICES, 7):
        grad = make(rows, WIDTH)
        parts = torch.cat([wide(grad), torch.zeros(1, WIDTH)])[places.clamp(max=rows)]
        wanted = parts.view(TOKENS, CHOICES, WIDTH).sum(1).to(make.dtype)
        yield [grad, _int(places), CHOICES, False, OUT], wanted


@case("aclnnMoeTokenUnpermute", dtypes=FLOATS, tolerance=4)
def tokens_put_back(make):
    places, probs = torch.randperm(TOKENS * CHOICES, generator=make.generator), make(TOKENS, CHOICES, low=0)
    rows = make(TOKENS * CHOICES, WIDTH)
    yield (
        [rows, _int(places), probs, False, None, OUT],
        exact(_unpermute, rows, places, probs, dtype=make.dtype),
    )
    yield [rows, _int(places), None, False, None, OUT], rows[places]
    few = rows[:7]
    yield (
        [few, _int(places), probs, False, None, OUT],
        exact(_unpermute, few, places, probs, dtype=make.dtype),
    )


@case("aclnnMoeTokenUnpermuteGrad", dtypes=FLOATS, tolerance=8)
def the_gradient_of_tokens_put_back(make):
    places, probs = torch.randperm(TOKENS * CHOICES, generator=make.generator), make(TOKENS, CHOICES, low=0)
    for rows in (make(TOKENS * CHOICES, WIDTH), make(7, WIDTH)):
        grad = make(TOKENS, WIDTH)
        wanted = gradients(lambda r, p: _unpermute(r, places, p), grad, rows, probs, dtype=make.dtype)
        yield [rows, grad, _int(places), probs, False, None, OUT, OUT], wanted
    rows, grad = make(TOKENS * CHOICES, WIDTH), make(TOKENS * CHOICES, WIDTH)
    wanted = gradients(lambda r: _unpermute(r, places, None), grad, rows, dtype=make.dtype)
    yield [rows, grad, _int(places), None, False, None, OUT, None], wanted
