"""Fused attention, its gradient, and rotary embeddings."""

import math

import torch

from mindtorch_v2._backends.npu import aclnn

from .harness import FLOATS, FLOATS_AND_DOUBLE, OUT, AnyResult, Inplace, case
from .reference import exact, gradients, packed_bits, wide

FAR = 2147483647
BATCH, HEADS, GROUPS, QUERIES, KEYS, WIDTH = 2, 4, 2, 6, 9, 8
NOTHING = torch.empty(0)
TRIANGLE = torch.ones(2048, 2048).triu(1).bool()


def _attend(query, key, value, scale, mask=None, bias=None, bias_is_scaled=True, kept=None, sink=None):
    """Attention over [B, N, S, D], with the row maxima and sums of its softmax."""
    share = query.shape[1] // key.shape[1]
    scores = query @ key.repeat_interleave(share, 1).mT
    if bias is not None and bias_is_scaled:
        scores = scores + bias
    scores = scores * scale
    if bias is not None and not bias_is_scaled:
        scores = scores + bias
    if mask is not None:
        scores = scores.masked_fill(mask, -math.inf)
    top = scores.amax(-1, keepdim=True)
    if sink is not None:
        top = torch.maximum(top, sink[:, None, None])
    weights = (scores - top).exp()
    total = weights.sum(-1, keepdim=True)
    if sink is not None:
        total = total + (sink[:, None, None] - top).exp()
    weights = weights / total
    if kept is not None:
        weights = weights * kept
    return weights @ value.repeat_interleave(share, 1), top, total


def _in_layout(x, layout):
    if layout == "BSND":
        return x.transpose(1, 2)
    if layout == "BSH":
        return x.transpose(1, 2).flatten(2)
    if layout == "SBH":
        return x.permute(2, 0, 1, 3).flatten(2)
    return x


def _band(before, after, shift=0):
    query, key = torch.arange(QUERIES)[:, None] + shift, torch.arange(KEYS)
    return (key < query - before) | (key > query + after)


def _problems(make, layout):
    """(mask, what it hides, sparse mode, tokens before and after, bias, bits kept); fewer in the other layouts."""
    random = torch.rand(BATCH, 1, QUERIES, KEYS, generator=make.generator) < 0.3
    random[..., 0] = False
    yield None, None, 0, FAR, FAR, None, None
    yield random, random, 1, FAR, FAR, None, None
    yield random[0, 0], random[0, 0], 0, FAR, FAR, None, None
    if layout != "BNSD":
        return
    yield _band(4, 2), _band(4, 2), 0, 4, 2, None, None
    yield TRIANGLE, _band(FAR, 0), 2, FAR, FAR, None, None
    yield TRIANGLE, _band(FAR, 0, KEYS - QUERIES), 3, FAR, FAR, None, None
    yield TRIANGLE, _band(2, 1, KEYS - QUERIES), 4, 2, 1, None, None
    yield None, None, 0, FAR, FAR, make(BATCH, HEADS, QUERIES, KEYS), None
    yield None, None, 0, FAR, FAR, make(1, HEADS, QUERIES, KEYS), None
    yield (
        None,
        None,
        0,
        FAR,
        FAR,
        None,
        torch.rand(BATCH, HEADS, QUERIES, KEYS, generator=make.generator) < 0.75,
    )


def _tensors(make):
    return (
        make(BATCH, HEADS, QUERIES, WIDTH, low=-1, high=1),
        make(BATCH, GROUPS, KEYS, WIDTH, low=-1, high=1),
        make(BATCH, GROUPS, KEYS, WIDTH, low=-1, high=1),
    )


def _statistic(value, dtype=torch.float32):
    return value.to(dtype).expand(*value.shape[:-1], 8)


# Arguments between the tensors and the results, and the results of the gradient after the three.
_FORWARD = {
    "aclnnFlashAttentionScore": lambda common, mode: [None, *common, 0, mode],
    "aclnnFlashAttentionScoreV2": lambda common, mode: [None, None, None, *common, 0, mode, 1],
    "aclnnFlashAttentionScoreV3": lambda common, mode: [None, None, None, None, *common, 0, mode, 1],
}


@case(*_FORWARD, dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def attention_in_every_layout_and_with_every_mask(make, operator):
    query, key, value = _tensors(make)
    for layout in ("BNSD", "BSND", "BSH", "SBH"):
        for mask, hidden, mode, before, after, bias, kept in _problems(make, layout):
            out, top, total = _attend(
                *map(wide, (query, key, value)),
                0.5,
                hidden,
                wide(bias),
                True,
                None if kept is None else kept.double() / 0.75,
            )
            common = [0.5, 1.0 if kept is None else 0.75, before, after, HEADS, layout]
            tensors = [_in_layout(x, layout) for x in (query, key, value)]
            drop = None if kept is None else packed_bits(kept)
            yield (
                [*tensors, bias, drop, None, mask, *_FORWARD[operator](common, mode), OUT, OUT, NOTHING, OUT],
                (_statistic(top), _statistic(total), _in_layout(out, layout).to(make.dtype)),
            )


@case("aclnnFlashAttentionScoreV2", dtypes=FLOATS, tolerance=4)
def a_bias_that_is_added_after_scaling_and_slopes(make):
    query, key, value = _tensors(make)
    bias, slopes = make(BATCH, HEADS, QUERIES, KEYS), make.positive(HEADS).float()
    distance = (torch.arange(QUERIES)[:, None] + 2 - torch.arange(KEYS)).abs().double()
    common = [0.5, 1.0, FAR, FAR, HEADS, "BNSD", 0, 0]
    for kind, given, start in ((0, bias, None), (2, slopes, [2]), (3, slopes, [2])):
        added = (
            wide(bias)
            if kind == 0
            else -slopes.double()[:, None, None] * (distance if kind == 2 else distance.sqrt())
        )
        out, top, total = _attend(*map(wide, (query, key, value)), 0.5, None, added, False)
        yield (
            [
                query,
                key,
                value,
                given,
                None,
                None,
                None,
                None,
                start,
                None,
                *common,
                kind,
                OUT,
                OUT,
                NOTHING,
                OUT,
            ],
            (_statistic(top), _statistic(total), out.to(make.dtype)),
        )


@case("aclnnFlashAttentionScoreV3", dtypes=FLOATS, tolerance=4)
def a_sink_takes_part_in_the_softmax(make):
    query, key, value = _tensors(make)
    sink = make(HEADS, dtype=torch.float32)
    out, top, total = _attend(*map(wide, (query, key, value)), 0.5, sink=wide(sink))
    return (
        [
            query,
            key,
            value,
            None,
            None,
            None,
            None,
            sink,
            None,
            None,
            None,
            0.5,
            1.0,
            FAR,
            FAR,
            HEADS,
            "BNSD",
            0,
            0,
        ]
        + [1, OUT, OUT, NOTHING, OUT],
        (_statistic(top), _statistic(total), out.to(make.dtype)),
    )


_BACKWARD = {
    "aclnnFlashAttentionScoreGrad": lambda common, mode: [None, *common, 0, mode],
    "aclnnFlashAttentionScoreGradV2": lambda common, mode: [None, None, None, *common, 0, mode, 1],
}


@case(*_BACKWARD, dtypes=FLOATS_AND_DOUBLE, tolerance=16)
def the_gradients_of_attention(make, operator):
    query, key, value = _tensors(make)
    grad = make(BATCH, HEADS, QUERIES, WIDTH, low=-1, high=1)
    for layout in ("BNSD", "SBH"):
        for mask, hidden, mode, before, after, bias, kept in _problems(make, layout):
            factor = None if kept is None else kept.double() / 0.75
            out, top, total = _attend(*map(wide, (query, key, value)), 0.5, hidden, wide(bias), True, factor)

            def attend(query, key, value, bias=None, hidden=hidden, factor=factor):
                return _attend(query, key, value, 0.5, hidden, bias, True, factor)[0]

            inputs = [query, key, value, *([] if bias is None else [bias])]
            made = gradients(attend, grad, *inputs, dtype=make.dtype)
            common = [0.5, 1.0 if kept is None else 0.75, before, after, HEADS, layout]
            tensors = [_in_layout(x, layout) for x in (query, key, value, grad)]
            drop = None if kept is None else packed_bits(kept)
            exact_out = torch.float64 if make.dtype == torch.float64 else torch.float32
            statistics = [_statistic(top, exact_out), _statistic(total, exact_out)]
            result = _in_layout(out, layout).to(make.dtype)
            yield (
                [
                    *tensors,
                    bias,
                    drop,
                    None,
                    mask,
                    *statistics,
                    None,
                    result,
                    *_BACKWARD[operator](common, mode),
                ]
                + [OUT, OUT, OUT, NOTHING if bias is None else OUT],
                (*(_in_layout(x, layout) for x in made[:3]), *made[3:]),
            )


def _packed(make):
    """Three sequences in a row: cumulative lengths, tensors, and the parts of each."""
    ends, key_ends = [3, 5, 9], [4, 9, 12]
    query, key, value = make(9, HEADS, WIDTH), make(12, GROUPS, WIDTH), make(12, GROUPS, WIDTH)
    parts = list(zip([0, *ends], ends, [0, *key_ends], key_ends, strict=False))
    return ends, key_ends, query, key, value, parts


def _attend_packed(query, key, value, parts):
    made = []
    for start, end, key_start, key_end in parts:
        part = [query[start:end], key[key_start:key_end], value[key_start:key_end]]
        made.append([x[0].transpose(0, 1) for x in _attend(*(p.transpose(0, 1)[None] for p in part), 0.25)])
    return [torch.cat(values) for values in zip(*made, strict=True)]


@case("aclnnFlashAttentionVarLenScore", "aclnnFlashAttentionVarLenScoreV2", dtypes=FLOATS, tolerance=4)
def attention_of_packed_sequences(make, operator):
    ends, key_ends, query, key, value, parts = _packed(make)
    out, top, total = _attend_packed(*map(wide, (query, key, value)), parts)
    starts, kind = ([None, None], [1]) if operator.endswith("V2") else ([], [])
    return (
        [query, key, value, None, None, None, None, None, ends, key_ends, *starts]
        + [0.25, 1.0, FAR, FAR, HEADS, "TND", 0, 0, *kind, OUT, OUT, NOTHING, OUT],
        (_statistic(top), _statistic(total), out.to(make.dtype)),
    )


@case(
    "aclnnFlashAttentionUnpaddingScoreGrad",
    "aclnnFlashAttentionUnpaddingScoreGradV2",
    dtypes=FLOATS,
    tolerance=16,
)
def the_gradients_of_attention_of_packed_sequences(make, operator):
    ends, key_ends, query, key, value, parts = _packed(make)
    grad = make(9, HEADS, WIDTH)
    out, top, total = _attend_packed(*map(wide, (query, key, value)), parts)
    made = gradients(lambda *t: _attend_packed(*t, parts)[0], grad, query, key, value, dtype=make.dtype)
    starts, kind = ([None, None], [1]) if operator.endswith("V2") else ([], [])
    return (
        [query, key, value, grad, None, None, None, None, _statistic(top), _statistic(total), None]
        + [out.to(make.dtype), None, ends, key_ends, *starts, 0.25, 1.0, FAR, FAR, HEADS, "TND", 0, 0, *kind]
        + [OUT, OUT, OUT, NOTHING],
        made,
    )


@case("aclnnPromptFlashAttention", dtypes=FLOATS, tolerance=4)
def attention_of_a_prompt(make):
    query, key, value = _tensors(make)
    for layout in ("BNSD", "BSND", "BSH"):
        mask = _band(FAR, 2)
        out, _, _ = _attend(*map(wide, (query, key, value)), 0.5, mask)
        tensors = [_in_layout(x, layout) for x in (query, key, value)]
        yield (
            [*tensors, None, mask, None, HEADS, 0.5, FAR, FAR, layout, GROUPS, OUT],
            _in_layout(out, layout).to(make.dtype),
        )


@case("aclnnPromptFlashAttentionV3", dtypes=FLOATS, tolerance=4)
def attention_of_prompts_of_different_lengths(make):
    query, key, value = _tensors(make)
    lengths, key_lengths = [4, 6], [5, 9]
    out = torch.zeros(BATCH, HEADS, QUERIES, WIDTH, dtype=torch.float64)
    for b in range(BATCH):
        part = [wide(query)[b : b + 1, :, : lengths[b]], wide(key)[b : b + 1, :, : key_lengths[b]]]
        out[b, :, : lengths[b]] = _attend(*part, wide(value)[b : b + 1, :, : key_lengths[b]], 0.5)[0][0]
    return (
        [
            query,
            key,
            value,
            None,
            None,
            lengths,
            key_lengths,
            *[None] * 5,
            HEADS,
            0.5,
            FAR,
            FAR,
            "BNSD",
            GROUPS,
            0,
            0,
            OUT,
        ],
        out.to(make.dtype),
    )


@case("aclnnIncreFlashAttention", dtypes=FLOATS, tolerance=4)
def attention_of_one_token(make):
    query, key, value = (x[:, :, :1] if i == 0 else x for i, x in enumerate(_tensors(make)))
    mask = torch.zeros(BATCH, KEYS, dtype=torch.bool)
    mask[1, 6:] = True
    out, _, _ = _attend(*map(wide, (query, key, value)), 0.5, mask[:, None, None])
    return [query, [key], [value], None, mask, None, HEADS, 0.5, "BNSD", GROUPS, OUT], out.to(make.dtype)


@case("aclnnIncreFlashAttentionV4", dtypes=FLOATS, tolerance=4)
def attention_of_one_token_over_blocks_of_keys(make):
    query = make(BATCH, 1, HEADS * WIDTH, low=-1, high=1)
    pools = [make(5, 4, GROUPS * WIDTH, low=-1, high=1) for _ in range(2)]
    table = torch.tensor([[3, 0, 1], [2, 4, 0]], dtype=torch.int32)
    lengths = [9, 6]
    out = []
    for b in range(BATCH):
        rows = [wide(pool)[table[b].long()].flatten(0, 1)[: lengths[b]] for pool in pools]
        heads = [x.unflatten(1, (GROUPS, WIDTH)).transpose(0, 1)[None] for x in rows]
        part = wide(query)[b].unflatten(1, (HEADS, WIDTH)).transpose(0, 1)[None]
        out.append(_attend(part, *heads, 0.5)[0][0].transpose(0, 1).flatten(1))
    return (
        [
            query,
            [pools[0]],
            [pools[1]],
            None,
            None,
            lengths,
            *[None] * 7,
            table,
            None,
            HEADS,
            0.5,
            "BSH",
            GROUPS,
            4,
            0,
            OUT,
        ],
        torch.stack(out).to(make.dtype),
    )


@case("aclnnFusedInferAttentionScoreV2", dtypes=FLOATS, tolerance=4)
def attention_with_the_logarithm_of_its_sums(make):
    query, key, value = _tensors(make)
    out, top, total = _attend(*map(wide, (query, key, value)), 0.5, _band(FAR, 0, KEYS - QUERIES))
    return (
        [
            query,
            [key],
            [value],
            None,
            TRIANGLE,
            *[None] * 19,
            HEADS,
            0.5,
            FAR,
            FAR,
            "BNSD",
            GROUPS,
            3,
            0,
            0,
            0,
            True,
        ]
        + [0, 0, OUT, OUT],
        (out.to(make.dtype), (top + total.log()).float()),
    )


def _turned(x, mode):
    if mode == 1:
        return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    if mode == 2:
        a, b, c, d = x.chunk(4, -1)
        return torch.cat((-b, a, -d, c), -1)
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)


def _rotary(x, cos, sin, mode):
    if mode == 3:
        x = torch.cat((x[..., ::2], x[..., 1::2]), -1)
    return x * cos + _turned(x, mode) * sin


@case("aclnnRotaryPositionEmbedding", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def rotary_embeddings_of_every_mode(make):
    x, cos, sin = make(2, 3, 4, 8), make(1, 1, 4, 8), make(1, 1, 4, 8)
    for mode in range(4):
        yield (
            [x, cos, sin, mode, OUT],
            exact(lambda *t, m=mode: _rotary(*t, m), x, cos, sin, dtype=make.dtype),
        )


@case("aclnnRotaryPositionEmbeddingGrad", dtypes=FLOATS_AND_DOUBLE, tolerance=16)
def the_gradients_of_rotary_embeddings(make):
    x, cos, sin, grad = make(2, 3, 4, 8), make(1, 1, 4, 8), make(1, 1, 4, 8), make(2, 3, 4, 8)
    for mode in range(4):
        made = gradients(lambda *t, m=mode: _rotary(*t, m), grad, x, cos, sin, dtype=make.dtype)
        yield [grad, cos, sin, x, mode, OUT, OUT, OUT], made
        reserved = [AnyResult((0,), make.dtype)] * 2
        yield [grad, cos, sin, None, mode, OUT, *reserved], (made[0], NOTHING, NOTHING)


@case("aclnnApplyRotaryPosEmb", "aclnnApplyRotaryPosEmbV2", dtypes=FLOATS, tolerance=4)
def query_and_key_turned_in_place(make, operator):
    query, key, cos, sin = make(2, 3, 4, 8), make(2, 3, 1, 8), make(2, 3, 1, 8), make(2, 3, 1, 8)
    for mode, name in ((0, "half"), (1, "interleave"), (2, "quarter")):
        made = [exact(lambda *t, m=mode: _rotary(*t, m), x, cos, sin, dtype=make.dtype) for x in (query, key)]
        if operator.endswith("V2"):
            yield [Inplace(query), Inplace(key), cos, sin, 1, name], tuple(made)
        elif mode == 0:
            yield [Inplace(query), Inplace(key), cos, sin, 1], tuple(made)


@case("aclnnInterleaveRope", dtypes=FLOATS, tolerance=4)
def neighbours_turned_into_halves(make):
    x, cos, sin = make(2, 3, 4, 8), make(2, 1, 4, 8), make(2, 1, 4, 8)
    return [x, cos, sin, OUT], exact(lambda *t: _rotary(*t, 3), x, cos, sin, dtype=make.dtype)


def _filled(operator, values):
    """Arguments by their names; what is not named is absent or 0."""
    arguments = []
    for parameter in aclnn.signature(operator):
        name = parameter.name.removesuffix("Optional")
        pointer = parameter.type.endswith("*")
        arguments.append(values.get(name, None if pointer else False if parameter.type == "bool" else 0))
    unknown = set(values) - {p.name.removesuffix("Optional") for p in aclnn.signature(operator)}
    assert unknown <= _ALTERNATIVES, f"{operator} has no parameters {sorted(unknown)}"
    return arguments


# Names that some of the versions have under another name, or not at all.
_ALTERNATIVES = {
    "key",
    "keyIn",
    "actualSeqLengthsKv",
    "actualSeqLengths",
    "pseType",
    "preTokens",
    "nextTokens",
    "dsinkOut",
}
_COMMON = {
    "scaleValue": 0.25, "keepProb": 1.0, "preTokens": FAR, "nextTokens": FAR, "headNum": HEADS, "pseType": 1,
}  # fmt: skip


@case("aclnnFlashAttentionScoreV4", dtypes=FLOATS, tolerance=4)
def attention_of_the_fourth_version(make, operator):
    query, key, value = _tensors(make)
    out, top, total = _attend(*map(wide, (query, key, value)), 0.25)
    values = {**_COMMON, "query": query, "key": key, "value": value, "inputLayout": "BNSD"}
    values |= {"softmaxMaxOut": OUT, "softmaxSumOut": OUT, "softmaxOutOut": NOTHING, "attentionOutOut": OUT}
    return _filled(operator, values), (_statistic(top), _statistic(total), out.to(make.dtype))


@case("aclnnFlashAttentionScoreGradV3", "aclnnFlashAttentionScoreGradV4", dtypes=FLOATS, tolerance=16)
def the_gradients_of_attention_with_a_sink(make, operator):
    query, key, value = _tensors(make)
    grad, sink = make(BATCH, HEADS, QUERIES, WIDTH, low=-1, high=1), make(HEADS, dtype=torch.float32)
    out, top, total = _attend(*map(wide, (query, key, value)), 0.25, sink=wide(sink))
    made = gradients(
        lambda q, k, v, s: _attend(q, k, v, 0.25, sink=s)[0], grad, query, key, value, sink, dtype=make.dtype
    )
    values = {**_COMMON, "query": query, "keyIn": key, "value": value, "dy": grad, "inputLayout": "BNSD"}
    values |= {
        "softmaxMax": _statistic(top),
        "softmaxSum": _statistic(total),
        "attentionIn": out.to(make.dtype),
    }
    values |= {"sinkIn": sink, "dqOut": OUT, "dkOut": OUT, "dvOut": OUT, "dsinkOut": OUT}
    return _filled(operator, values), made


@case(
    *(f"aclnnFlashAttentionVarLenScoreV{version}" for version in (3, 4, 5)),
    *(f"aclnnFlashAttentionUnpaddingScoreGradV{version}" for version in (3, 4, 5)),
    dtypes=FLOATS,
    tolerance=16,
)
def attention_of_packed_sequences_in_later_versions(make, operator):
    ends, key_ends, query, key, value, parts = _packed(make)
    grad = make(9, HEADS, WIDTH)
    out, top, total = _attend_packed(*map(wide, (query, key, value)), parts)
    values = {**_COMMON, "query": query, "value": value, "inputLayout": "TND"}
    values |= {"actualSeqQLen": ends, "actualSeqKvLen": key_ends}
    if "Grad" not in operator:
        values |= {"key": key, "softmaxMaxOut": OUT, "softmaxSumOut": OUT, "softmaxOutOut": NOTHING}
        values["attentionOutOut"] = OUT
        return _filled(operator, values), (_statistic(top), _statistic(total), out.to(make.dtype))
    made = gradients(lambda *t: _attend_packed(*t, parts)[0], grad, query, key, value, dtype=make.dtype)
    values |= {"keyIn": key, "dy": grad, "softmaxMax": _statistic(top), "softmaxSum": _statistic(total)}
    values |= {"attentionIn": out.to(make.dtype), "dqOut": OUT, "dkOut": OUT, "dvOut": OUT}
    return _filled(operator, values), made


@case(
    "aclnnPromptFlashAttentionV2",
    *(f"aclnnIncreFlashAttentionV{version}" for version in (2, 3)),
    "aclnnFusedInferAttentionScore",
    *(f"aclnnFusedInferAttentionScoreV{version}" for version in (3, 4, 5)),
    dtypes=FLOATS,
    tolerance=4,
)
def attention_of_inference_in_other_versions(make, operator):
    query, key, value = _tensors(make)
    if "Incre" in operator:
        query = query[:, :, :1]
    listed = "Prompt" not in operator
    values = {"query": query, "key": [key] if listed else key, "value": [value] if listed else value}
    values |= {"numHeads": HEADS, "numKeyValueHeads": GROUPS, "scaleValue": 0.25, "inputLayout": "BNSD"}
    values |= {"attentionOut": OUT, "preTokens": FAR, "nextTokens": FAR}
    out, _, _ = _attend(*map(wide, (query, key, value)), 0.25)
    return _filled(operator, values), out.to(make.dtype)


@case("aclnnRopeWithSinCosCache", dtypes=FLOATS, tolerance=4)
def query_and_key_turned_by_their_positions(make):
    positions, query, key, cache = make.index(5, below=7), make(5, 3 * 8), make(5, 8), make(7, 6)
    cos, sin = (part[positions].double() for part in cache.double().chunk(2, 1))
    for halves in (True, False):
        angles = [
            (torch.cat((x, x), 1) if halves else x.repeat_interleave(2, 1))[:, None] for x in (cos, sin)
        ]
        made = []
        for x in (query, key):
            heads = wide(x).unflatten(1, (-1, 8))
            turned = _rotary(heads[..., :6], *angles, 0 if halves else 1)
            made.append(torch.cat((turned, heads[..., 6:]), -1).flatten(1).to(make.dtype))
        yield [positions, query, key, cache, [], 8, halves, OUT, OUT], tuple(made)
