"""What serving of language models uses: attention over caches in blocks, rotary parts, and the caches themselves."""

import torch

from .cases_attention import FAR, NOTHING, TRIANGLE, _attend, _filled, _rotary, _turned
from .harness import FLOATS, OUT, Inplace, case
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
