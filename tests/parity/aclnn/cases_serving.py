"""What serving of language models uses: attention over caches in blocks, rotary parts, and the caches themselves."""

import torch

from .cases_attention import FAR, NOTHING, TRIANGLE, _attend, _filled, _rotary, _turned
from .harness import FLOATS, OUT, AnyResult, Inplace, case
from .reference import exact, wide

BATCH, HEADS, GROUPS, QUERIES, KEYS, WIDTH, ROPE = 2, 4, 2, 3, 7, 16, 8
BLOCK = 4


@case("aclnnRotaryPositionEmbeddingV2", dtypes=FLOATS, tolerance=8)
def rotary_embeddings_by_a_matrix(make):
    x, cos, sin = make(2, 3, 4, 8), make(1, 1, 4, 8), make(1, 1, 4, 8)
    for mode in range(2):
        wanted = exact(lambda *t, m=mode: _rotary(*t, m), x, cos, sin, dtype=make.dtype)
        yield [x, cos, sin, mode, None, OUT], wanted
        yield [x, cos, sin, mode, _turned(torch.eye(8), mode).to(make.dtype), OUT], wanted
    matrix = make(8, 8)
    wanted = exact(lambda x, c, s, m: x * c + x @ m * s, x, cos, sin, matrix, dtype=make.dtype)
    yield [x, cos, sin, 0, matrix, OUT], wanted


_INFERENCE = tuple(f"aclnnFusedInferAttentionScore{v}" for v in ("", "V2", "V3", "V4", "V5"))


def _to_layout(x, layout):
    """From [B, N, S, D]; packed layouts have all sequences in full."""
    orders = {"BNSD": (0, 1, 2, 3), "BSND": (0, 2, 1, 3), "NBSD": (1, 0, 2, 3), "BSH": (0, 2, 1, 3)}
    if layout in orders:
        x = x.permute(orders[layout])
        return x.flatten(2) if layout == "BSH" else x
    rows = x.transpose(1, 2).flatten(0, 1)
    return rows if layout == "TND" else rows.transpose(0, 1)


def _common(**more):
    return {
        "numHeads": HEADS,
        "scaleValue": 0.5,
        "preTokens": FAR,
        "nextTokens": FAR,
        "numKeyValueHeads": GROUPS,
        **more,
    }


@case(*_INFERENCE, dtypes=FLOATS, tolerance=4)
def attention_in_every_layout_and_mode(make, operator):
    query = make(BATCH, HEADS, QUERIES, WIDTH, low=-1, high=1)
    key, value = (make(BATCH, GROUPS, KEYS, WIDTH, low=-1, high=1) for _ in range(2))
    i, j = torch.arange(QUERIES)[:, None], torch.arange(KEYS)
    shift = KEYS - QUERIES
    random = torch.rand(QUERIES, KEYS, generator=make.generator) < 0.3
    random[:, 0] = False
    hidden = {0: random, 2: j > i, 3: j > i + shift, 4: (j > i + shift + 1) | (j < i + shift - 2)}
    for layout in ("BSH", "BSND", "BNSD", "TND", "NTD_TND", "TND_NTD", "BNSD_BSND", "BSND_NBSD", "BSH_BNSD"):
        read, _, write = layout.partition("_")
        packed = "T" in read
        for mode, mask in hidden.items():
            out, top, total = _attend(*map(wide, (query, key, value)), 0.5, mask)
            given = _common(
                query=_to_layout(query, read),
                key=[_to_layout(key, read)],
                value=[_to_layout(value, read)],
                attenMask=mask if mode == 0 else TRIANGLE,
                sparseMode=mode,
                preTokens=2 if mode == 4 else FAR,
                nextTokens=1 if mode == 4 else FAR,
                inputLayout=layout,
                attentionOut=OUT,
            )
            if packed:
                given["actualSeqLengths"] = [QUERIES * (b + 1) for b in range(BATCH)]
                given["actualSeqLengthsKv"] = [KEYS * (b + 1) for b in range(BATCH)]
            wanted = [_to_layout(out, write or read).to(make.dtype)]
            if operator not in _INFERENCE[:1]:
                given |= {"softmaxLseFlag": True, "softmaxLse": OUT}
                logs = (top + total.log()).float()
                wanted.append(logs.transpose(1, 2).flatten(0, 1) if packed else logs)
            yield _filled(operator, given), tuple(wanted)


@case(*_INFERENCE, dtypes=FLOATS, tolerance=4)
def attention_over_blocks_in_every_form(make, operator):
    query = make(BATCH, HEADS, QUERIES, WIDTH, low=-1, high=1)
    pools = [make(5, GROUPS, BLOCK, WIDTH, low=-1, high=1) for _ in range(2)]
    table, lengths = torch.tensor([[3, 0], [2, 4]], dtype=torch.int32), [7, 5]
    out = []
    for b in range(BATCH):
        rows = [wide(p)[table[b].long()].transpose(0, 1).flatten(1, 2)[None, :, : lengths[b]] for p in pools]
        mask = torch.arange(lengths[b]) > torch.arange(QUERIES)[:, None] + lengths[b] - QUERIES
        out.append(_attend(wide(query)[b : b + 1], *rows, 0.5, mask)[0][0])
    wanted = torch.stack(out).to(make.dtype)
    forms = (
        lambda p: p,
        lambda p: p.transpose(1, 2).flatten(2),
        lambda p: p.unflatten(3, (WIDTH // 8, 8)).transpose(2, 3).contiguous(),
    )
    for form in forms:
        for layout in ("BNSD", "TND"):
            given = _common(
                query=_to_layout(query, layout),
                key=[form(pools[0])],
                value=[form(pools[1])],
                attenMask=TRIANGLE,
                sparseMode=3,
                inputLayout=layout,
                blockTable=table,
                blockSize=BLOCK,
                actualSeqLengthsKv=lengths,
                attentionOut=OUT,
            )
            if layout == "TND":
                given["actualSeqLengths"] = [QUERIES * (b + 1) for b in range(BATCH)]
            yield _filled(operator, given), _to_layout(wanted, layout)


@case(*_INFERENCE[2:], dtypes=FLOATS, tolerance=4)
def attention_with_rotary_parts(make, operator):
    """As with latent attention: one head of keys, whose columns are the values as well."""
    query, rope = make(BATCH, HEADS, QUERIES, WIDTH, low=-1), make(BATCH, HEADS, QUERIES, ROPE, low=-1)
    key, key_rope = make(BATCH, 1, KEYS, WIDTH, low=-1), make(BATCH, 1, KEYS, ROPE, low=-1)
    whole = [torch.cat((wide(a), wide(b)), -1) for a, b in ((query, rope), (key, key_rope))]
    out = _attend(*whole, wide(key), 0.5)[0].to(make.dtype)
    for layout in ("BNSD", "BSND", "BSND_NBSD"):
        read, _, write = layout.partition("_")
        given = _common(
            query=_to_layout(query, read),
            queryRope=_to_layout(rope, read),
            key=[_to_layout(key, read)],
            value=[_to_layout(key, read)],
            keyRope=_to_layout(key_rope, read),
            inputLayout=layout,
            attentionOut=OUT,
        )
        yield _filled(operator, given | {"numKeyValueHeads": 1}), _to_layout(out, write or read)
    # The same keys in blocks: sequence b has blocks 2 b and 2 b + 1.
    pools = []
    for x in (key, key_rope):
        rows = torch.zeros(BATCH, 2 * BLOCK, x.shape[-1], dtype=make.dtype)
        rows[:, :KEYS] = x[:, 0]
        pools.append(rows.view(2 * BATCH, BLOCK, -1))
    given = _common(
        query=query,
        queryRope=rope,
        key=[pools[0]],
        value=[pools[0]],
        keyRope=pools[1],
        inputLayout="BNSD",
        blockTable=torch.arange(2 * BATCH, dtype=torch.int32).view(BATCH, 2),
        blockSize=BLOCK,
        actualSeqLengthsKv=[KEYS] * BATCH,
        attentionOut=OUT,
    )
    yield _filled(operator, given | {"numKeyValueHeads": 1}), out


@case("aclnnAttentionUpdate", dtypes=FLOATS, tolerance=4)
def attention_over_parts_put_together(make):
    logs = [make(6, dtype=torch.float32) for _ in range(3)]
    parts = [make(6, 8) for _ in range(3)]
    whole = torch.stack([wide(log) for log in logs])
    share = (whole - whole.logsumexp(0)).exp()
    wanted = (torch.stack([wide(part) for part in parts]) * share[..., None]).sum(0).to(make.dtype)
    yield [logs, parts, 0, OUT, None], wanted
    yield [logs, parts, 1, OUT, OUT], (wanted, whole.logsumexp(0).float())


@case("aclnnRopeWithSinCosCacheV2", dtypes=FLOATS, tolerance=4)
def rotary_embeddings_of_positions_in_space(make):
    tokens, size, pairs = 5, 32, 12
    cache, query, key = make(10, 2 * pairs), make(tokens, 2 * size), make(tokens, size)

    def turned(x, angles, halves):
        heads = wide(x).view(tokens, -1, size)
        cos, sin = (t[:, None] for t in wide(angles).chunk(2, -1))
        part = heads[..., : 2 * pairs]
        a, b = part.chunk(2, -1) if halves else (part[..., ::2], part[..., 1::2])
        both = (a * cos - b * sin, b * cos + a * sin)
        new = torch.cat(both, -1) if halves else torch.stack(both, -1).flatten(-2)
        return torch.cat((new, heads[..., 2 * pairs :]), -1).flatten(1).to(make.dtype)

    plain, space = make.index(tokens, below=10), make.index(3, tokens, below=10)
    sections, pair = [4, 5, 3], torch.arange(pairs)
    in_sections = torch.tensor([0] * 4 + [1] * 5 + [2] * 3)
    in_turn = torch.where(pair < 3 * sections[1], pair % 3, 0)
    for halves in (True, False):
        for positions, numbers, mode, axes in (
            (plain, None, 0, None),
            (space, sections, 0, in_sections),
            (space, sections, 1, in_turn),
        ):
            rows = cache[positions]
            if axes is not None:  # each pair takes its axis
                rows = rows.gather(0, axes.repeat(2).expand(1, tokens, -1))[0]
            yield (
                [positions, query, key, cache, numbers, size, halves, mode, OUT, OUT],
                (turned(query, rows, halves), turned(key, rows, halves)),
            )


# ---- results in int8 ----------------------------------------------------------------------------------


def _int8(x):
    return x.round().clamp(-128, 127).to(torch.int8)


def _norm(x, gamma, beta=None):
    x = x.float()
    y = x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * gamma.float()
    return y if beta is None else y + beta.float()


def _by_rows(x):
    step = x.abs().amax(-1) / 127
    return _int8(x / step[..., None]), step


@case("aclnnRmsNormQuant", dtypes=FLOATS)
def norms_in_int8(make):
    x, gamma, beta = make(4, 3, 16), make(16), make(16)
    scale, offset = torch.tensor([0.07]).to(make.dtype), torch.tensor([3], dtype=torch.int8)
    yield [x, gamma, beta, scale, offset, 1e-5, OUT], _int8(_norm(x, gamma, beta) / scale.float() + 3)


@case("aclnnAddRmsNormQuant", "aclnnAddRmsNormQuantV2", dtypes=FLOATS)
def norms_of_sums_in_int8(make, operator):
    later = operator.endswith("V2")
    x1, x2, gamma = make(5, 16), make(5, 16), make(16)
    first, second = (
        make(16, low=0.02, high=0.2, dtype=torch.float32),
        make(16, low=0.02, high=0.2, dtype=torch.float32),
    )
    zero, beta = make(16, low=-5, high=5, dtype=torch.int32), make(16)
    total = (x1.float() + x2.float()).to(make.dtype)

    def call(scales, zeros, added, divides, *outputs):
        extra = [added] if later else []
        return [x1, x2, gamma, *scales, *zeros, *extra, -1, 1e-5, divides, *outputs]

    y = _norm(total, gamma)
    ends = [None] if later else []
    one, both = (_int8(y / first + zero), total), (_int8(y / first + zero), _int8(y / second), total)
    yield call([first, None], [zero, None], None, True, OUT, None, OUT, *ends), one
    yield call([first, second], [zero, None], None, True, OUT, OUT, OUT, *ends), both
    yield call([first, None], [None, None], None, False, OUT, None, OUT, *ends), (_int8(y * first), total)
    if later:
        shifted = _norm(total, gamma, beta)
        wanted = (_int8(shifted / first), total, shifted.to(make.dtype))
        yield call([first, None], [None, None], beta, True, OUT, None, OUT, OUT), wanted


@case("aclnnAddRmsNormDynamicQuantV2", dtypes=FLOATS, tolerance=2)
def norms_of_sums_with_a_scale_for_each_row(make):
    x1, x2, gamma, beta = make(2, 5, 16), make(2, 5, 16), make(16), make(16)
    smooth, other = make(16, low=0.5, high=2), make(16, low=0.5, high=2)
    total = (x1.float() + x2.float()).to(make.dtype)
    y = _norm(total, gamma)
    first, second = _by_rows(y * smooth.float()), _by_rows(y * other.float())
    plain = _by_rows(_norm(total, gamma, beta))
    given = [x1, x2, gamma]
    yield [*given, None, None, beta, 1e-5, None, OUT, None, OUT, OUT, None], (plain[0], total, plain[1])
    yield [*given, smooth, None, None, 1e-5, None, OUT, None, OUT, OUT, None], (first[0], total, first[1])
    yield (
        [*given, smooth, other, None, 1e-5, [True, True], OUT, OUT, OUT, OUT, OUT],
        (first[0], second[0], total, first[1], second[1]),
    )


def _gated(x, left):
    a, b = x.float().chunk(2, -1)
    return torch.nn.functional.silu(a if left else b) * (b if left else a)


@case("aclnnSwiGluQuantV2", dtypes=FLOATS, tolerance=2)
def a_gate_in_int8(make):
    x = make(6, 16)
    for left in (True, False):
        y = _gated(x, left)
        rows, steps = _by_rows(y)
        yield [x, None, None, None, left, "dynamic", 0, 2, OUT, OUT], (rows, steps)
        smooth = make(2, 8, low=0.5, high=2, dtype=torch.float32)
        spread = _by_rows(y * smooth.repeat_interleave(torch.tensor([2, 4]), 0))
        for kind, numbers in ((0, [2, 6]), (1, [2, 4])):
            groups = torch.tensor(numbers, dtype=torch.int32)
            yield [x, smooth, None, groups, left, "dynamic", kind, 2, OUT, OUT], spread
        offset = make(1, 8, dtype=torch.float32)
        yield (
            [x, smooth[:1] * 10, offset, None, left, "static", 0, 2, OUT, AnyResult((6,), torch.float32)],
            (_int8(y * smooth[:1] * 10 + offset), NOTHING),
        )


@case("aclnnDequantSwigluQuant", "aclnnDequantSwigluQuantV2", dtypes=(torch.int32,), tolerance=2)
def a_gate_between_integers(make, operator):
    x = make(6, 16, low=-1000, high=1000)
    weight, token = (
        make(2, 16, low=0.001, high=0.01, dtype=torch.float32),
        make(6, low=0.1, dtype=torch.float32).abs(),
    )
    smooth, bias = make(2, 8, low=0.5, high=2, dtype=torch.float32), make(16, low=-90, high=90)
    more = [2, "rint", -1, 0, 7.0, 1.702, 1.0] if operator.endswith("V2") else []
    for left in (True, False):
        plain = (x + bias).float() * weight[0] * token[:, None]
        yield (
            [x, weight[0], token[:, None], bias, None, None, None, left, "dynamic", *more, OUT, OUT],
            _by_rows(_gated(plain, left)),
        )
        groups = torch.tensor([2, 4])
        grouped = x.float() * weight.repeat_interleave(groups, 0) * token[:, None]
        spread = _gated(grouped, left) * smooth.repeat_interleave(groups, 0)
        yield (
            [x, weight, token, None, smooth, None, groups, left, "dynamic", *more, OUT, OUT],
            _by_rows(spread),
        )


@case("aclnnGroupedMatmulSwigluQuantWeightNZ", dtypes=(torch.int8,), tolerance=2)
def products_of_groups_gated_in_int8(make):
    x, weight = make(7, 8, low=-9, high=9), make(3, 8, 12, low=-9, high=9)
    columns, tokens = (
        make(3, 12, low=0.01, high=0.1, dtype=torch.float32),
        make(7, low=0.1, high=1, dtype=torch.float32),
    )
    ends = torch.tensor([2, 2, 7])
    owner = torch.tensor([0, 0, 2, 2, 2, 2, 2])
    product = (
        torch.einsum("mk,mkn->mn", x.double(), weight.double()[owner]).float()
        * columns[owner]
        * tokens[:, None]
    )
    wanted = _by_rows(_gated(product, True))
    yield [x, weight, None, None, columns, tokens, ends, OUT, OUT, None], wanted


# ---- caches -------------------------------------------------------------------------------------------


def _norm_and_rope(kv, gamma, cos, sin):
    part, rope = kv[..., :WIDTH], kv[..., WIDTH:]
    normed = part / (part.square().mean(-1, keepdim=True) + 1e-5).sqrt() * gamma
    return normed, _rotary(rope, cos, sin, 3)


def _in_pieces(cache):
    """[blocks, block size, 1, width]: the memory of a block has its columns in pieces of 32 bytes."""
    together = 32 // cache.element_size()
    return cache.unflatten(3, (-1, together)).permute(0, 3, 2, 1, 4).reshape(cache.shape)


_HALVES = (torch.float16, torch.bfloat16)


@case("aclnnKvRmsNormRopeCache", "aclnnKvRmsNormRopeCacheV2", dtypes=_HALVES, layouts=("dense",), tolerance=4)
def latent_keys_written_to_their_cache(make, operator):
    steps, rope = 3, 16
    kv, gamma = make(BATCH, 1, steps, WIDTH + rope), make(WIDTH)
    cos, sin = make(BATCH, 1, steps, rope), make(BATCH, 1, steps, rope)
    normed, turned = exact(_norm_and_rope, kv, gamma, cos, sin, dtype=make.dtype)
    more = [None] if operator.endswith("V2") else []

    def call(index, caches, mode, wanted):
        start = [
            kv,
            gamma,
            cos,
            sin,
            index,
            Inplace(caches[0]),
            Inplace(caches[1]),
            *[None] * 4,
            *more,
            1e-5,
            mode,
        ]
        yield [*start, False, None, None], wanted
        yield [*start, True, OUT, OUT], (*wanted, turned, normed)

    caches = [make(BATCH, 1, 8, rope), make(BATCH, 1, 8, WIDTH)]
    index = torch.tensor([[5, -1, 0], [7, 2, 3]])
    wanted = [cache.clone() for cache in caches]
    for to, rows in zip(wanted, (turned, normed), strict=True):
        for b in range(BATCH):
            for s in range(steps):
                if index[b, s] >= 0:
                    to[b, 0, index[b, s]] = rows[b, 0, s]
    yield from call(index, caches, "Norm", tuple(wanted))

    pools = [make(4, BLOCK, 1, rope), make(4, BLOCK, 1, WIDTH)]
    slots = torch.tensor([9, -1, 4, 15, 0, 1])
    wanted = [pool.clone() for pool in pools]
    for to, rows in zip(wanted, (turned, normed), strict=True):
        for place, slot in enumerate(slots.tolist()):
            if slot >= 0:
                to[slot // BLOCK, slot % BLOCK, 0] = rows.flatten(0, 2)[place]
    yield from call(slots, pools, "PA", tuple(wanted))
    yield from call(slots, [_in_pieces(p) for p in pools], "PA_NZ", tuple(_in_pieces(w) for w in wanted))

    starts = torch.tensor([2 * BLOCK, -1])  # a block for each sequence
    wanted = [pool.clone() for pool in pools]
    for to, rows in zip(wanted, (turned, normed), strict=True):
        to[2, :steps, 0] = rows[0, 0]
    yield from call(starts, pools, "PA_BLK_BNSD", tuple(wanted))


def _written(pool, rows, slots):
    made = pool.clone()
    for row, slot in zip(rows, slots.tolist(), strict=True):
        if slot >= 0:
            made[slot // BLOCK, slot % BLOCK] = row
    return made


@case("aclnnScatterPaKvCache", dtypes=(*FLOATS, torch.int8))
def keys_and_values_written_to_slots(make):
    key, value, slots = make(5, 2, 16), make(5, 2, 32), torch.tensor([3, -1, 0, 11, 6])
    pools = [make(3, BLOCK, 2, 16), make(3, BLOCK, 2, 32)]
    wanted = tuple(_written(p, x, slots) for p, x in zip(pools, (key, value), strict=True))

    def call(index, form, mode, how):
        to = [Inplace(how(pool)) for pool in pools]
        ends = [None, None, None, form, mode, None, None]
        return [key, to[0], index, value, to[1], *ends], tuple(how(w) for w in wanted)

    for dtype in (torch.int64, torch.int32):
        yield call(slots.to(dtype), None, None, lambda p: p.clone())
    yield call(slots, "Norm", "NHSD", lambda p: p.transpose(1, 2).contiguous())
    yield call(slots, "PA_NZ", "None", lambda p: p.unflatten(3, (-1, 8)).permute(0, 2, 3, 1, 4).contiguous())
    yield (
        call(
            slots,
            "PA_NZ",
            "None",
            lambda p: p.unflatten(3, (-1, 8)).permute(0, 2, 3, 1, 4).flatten(1, 2).contiguous(),
        )
    )
    yield (
        [key, Inplace(pools[0]), slots, NOTHING.to(make.dtype), NOTHING.to(make.dtype), *[None] * 7],
        (wanted[0],),
    )


@case("aclnnGatherPaKvCache", dtypes=(*FLOATS, torch.int8))
def keys_and_values_read_from_blocks(make):
    pools = [make(5, BLOCK, 2, 16), make(5, BLOCK, 2, 32)]
    table, lengths = torch.tensor([[3, 0], [4, 1]], dtype=torch.int32), [6, 3]
    rows = [
        torch.cat([p[t.long()].flatten(0, 1)[:n] for t, n in zip(table, lengths, strict=True)]) for p in pools
    ]
    short = torch.tensor(lengths, dtype=torch.int32)
    ends = torch.tensor([0, 6, 9], dtype=torch.int32)
    for form, how in (
        ("Norm", lambda p: p),
        ("PA_NZ", lambda p: p.unflatten(3, (-1, 8)).permute(0, 2, 3, 1, 4)),
    ):
        given = [how(p).contiguous() for p in pools]
        for numbers in (short, ends):
            yield [*given, table, numbers, OUT, OUT, None, form, numbers is ends], tuple(rows)
