"""torch_npu's own functions that serving of language models calls, against what they say they compute."""

import math

import pytest
import torch
import torch_npu

TOKENS, EXPERTS, CHOICES, WIDTH = 6, 8, 2, 16
HALF = torch.float16


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def assert_close(got: torch.Tensor, wanted: torch.Tensor, tolerance: float = 2e-3) -> None:
    assert got.device.type == "npu"
    torch.testing.assert_close(got.cpu(), wanted.to(got.dtype), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("mode", ["half", "interleave"])
def test_rotary_mul_turns_pairs_and_has_gradients(mode: str) -> None:
    inputs = [torch.randn(2, 4, 8, WIDTH), torch.randn(1, 1, 8, WIDTH), torch.randn(1, 1, 8, WIDTH)]

    def turned(x: torch.Tensor) -> torch.Tensor:
        if mode == "half":
            return torch.cat((-x[..., WIDTH // 2 :], x[..., : WIDTH // 2]), -1)
        return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)

    ours = [x.npu().requires_grad_() for x in inputs]
    theirs = [x.clone().requires_grad_() for x in inputs]
    got, wanted = torch_npu.npu_rotary_mul(*ours, mode), theirs[0] * theirs[1] + turned(theirs[0]) * theirs[2]
    assert_close(got, wanted.detach(), 1e-4)
    got.sum().backward()
    wanted.sum().backward()
    for a, b in zip(ours, theirs, strict=True):
        assert_close(a.grad, b.grad, 1e-4)
    matrix = turned(torch.eye(WIDTH))
    assert_close(
        torch_npu.npu_rotary_mul(*(x.npu() for x in inputs), mode, matrix.npu()), wanted.detach(), 1e-4
    )


def mixture(x: torch.Tensor, gates: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    share, best = gates.softmax(-1).topk(CHOICES)
    rows = [sum(share[t, c] * (x[t] @ weights[best[t, c]]) for c in range(CHOICES)) for t in range(len(x))]
    return torch.stack(rows)


def test_a_mixture_of_experts_is_routed_multiplied_and_put_together() -> None:
    x, gates, weights = (
        torch.randn(TOKENS, WIDTH),
        torch.randn(TOKENS, EXPERTS),
        torch.randn(EXPERTS, WIDTH, WIDTH) / 4,
    )
    share, best, _ = torch_npu.npu_moe_gating_top_k_softmax(gates.npu(), None, CHOICES)
    rows, index, counts, _ = torch_npu.npu_moe_init_routing_v2(
        x.npu(),
        best,
        active_num=TOKENS * CHOICES,
        expert_num=EXPERTS,
        expert_tokens_num_type=1,
        expert_tokens_num_flag=True,
        active_expert_range=[0, EXPERTS],
    )
    made = torch_npu.npu_grouped_matmul(
        [rows.half()],
        [weights.npu().half()],
        group_list=counts,
        split_item=2,
        group_type=0,
        group_list_type=1,
    )[0]
    out = torch_npu.npu_moe_finalize_routing(
        made.float(), None, None, None, share, index, best, drop_pad_mode=2
    )
    assert_close(out, mixture(x, gates, weights), 1e-2)


def test_tokens_permuted_and_put_back_have_the_gradients_of_the_cpu() -> None:
    x, probs = torch.randn(TOKENS, WIDTH), torch.rand(TOKENS, CHOICES)
    experts = torch.stack([torch.randperm(EXPERTS)[:CHOICES] for _ in range(TOKENS)])
    a, p = x.npu().requires_grad_(), probs.npu().requires_grad_()
    rows, places = torch_npu.npu_moe_token_permute(a, experts.npu())
    scale = torch.arange(1.0, TOKENS * CHOICES + 1)[:, None]
    out = torch_npu.npu_moe_token_unpermute(rows * scale.npu(), places, probs=p)
    b, q = x.clone().requires_grad_(), probs.clone().requires_grad_()
    order = experts.flatten().argsort(stable=True)
    inverse = order.argsort()
    back = (b[order // CHOICES] * scale)[inverse].view(TOKENS, CHOICES, WIDTH)
    wanted = (back * q[..., None]).sum(1)
    assert_close(out, wanted.detach(), 1e-4)
    out.square().sum().backward()
    wanted.square().sum().backward()
    assert_close(a.grad, b.grad, 1e-3)
    assert_close(p.grad, q.grad, 1e-3)


def test_experts_are_chosen_by_groups() -> None:
    x, bias = torch.randn(TOKENS, EXPERTS), torch.randn(EXPERTS) / 10
    share, best, _ = torch_npu.npu_moe_gating_top_k(
        x.npu(), CHOICES, bias=bias.npu(), k_group=1, group_count=2, group_select_mode=1, norm_type=1,
        routed_scaling_factor=2.5,
    )  # fmt: skip
    scores = x.sigmoid()
    groups = (scores + bias).view(TOKENS, 2, -1)
    kept = groups.topk(2).values.sum(-1).argmax(-1)
    masked = torch.where((torch.arange(2) == kept[:, None])[..., None], groups, -math.inf).flatten(1)
    wanted = masked.topk(CHOICES).indices
    weights = scores.gather(1, wanted)
    assert torch.equal(best.cpu(), wanted.int())
    assert_close(share, 2.5 * weights / weights.sum(-1, keepdim=True), 1e-4)


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, mask=None) -> torch.Tensor:
    share = q.shape[0] // k.shape[0]
    scores = q @ k.repeat_interleave(share, 0).mT * scale
    if mask is not None:
        scores = scores.masked_fill(mask, -math.inf)
    return scores.softmax(-1) @ v.repeat_interleave(share, 0)


def test_packed_queries_attend_to_keys_in_blocks() -> None:
    block, table, queries, keys = 4, torch.tensor([[3, 0], [1, 2]], dtype=torch.int32), [3, 2], [7, 5]
    q = torch.randn(sum(queries), 4, WIDTH)
    pools = [torch.randn(4, block, 2, WIDTH) for _ in range(2)]
    for pool in pools:  # what a cache has is written to its slots
        assert pool.shape == (4, block, 2, WIDTH)
    caches = [torch.zeros_like(pool).npu() for pool in pools]
    slots = torch.arange(4 * block)
    torch_npu.npu_scatter_pa_kv_cache(
        *(pool.flatten(0, 1).npu() for pool in pools), *caches, slots.npu(), cache_mode="Norm"
    )
    assert_close(caches[0], pools[0], 0)
    out, _ = torch_npu.npu_fused_infer_attention_score(
        q.npu().half(), *(cache.half().flatten(2) for cache in caches), num_heads=4, num_key_value_heads=2,
        input_layout="TND", scale=0.25, sparse_mode=3, atten_mask=torch.ones(2048, 2048).triu(1).bool().npu(),
        block_table=table.npu(), block_size=block, actual_seq_lengths=[3, 5], actual_seq_lengths_kv=keys,
    )  # fmt: skip
    wanted, start = [], 0
    for b, (n, m) in enumerate(zip(queries, keys, strict=True)):
        rows = [pool[table[b].long()].flatten(0, 1)[:m].transpose(0, 1) for pool in pools]
        mask = torch.arange(m) > torch.arange(n)[:, None] + m - n
        wanted.append(attention(q[start : start + n].transpose(0, 1), *rows, 0.25, mask).transpose(0, 1))
        start += n
    assert_close(out, torch.cat(wanted), 1e-2)


def test_latent_attention_reads_its_cache_and_rotary_parts() -> None:
    batch, block, lora, rope = 2, 16, 64, 32
    caches = [torch.zeros(batch, block, 1, n).half().npu() for n in (rope, lora)]
    gamma = torch.rand(lora) + 0.5
    angles = torch.randn(5, batch, 1, 1, rope)
    normed, turned = [], []
    for step in range(5):
        kv = torch.randn(batch, 1, 1, lora + rope)
        slots = torch.tensor([step, block + step])
        torch_npu.npu_kv_rmsnorm_rope_cache(
            kv.half().npu(), gamma.half().npu(), angles[step].cos().half().npu(), angles[step].sin().half().npu(),
            slots.npu(), *caches, epsilon=1e-6, cache_mode="PA",
        )  # fmt: skip
        normed.append(torch.nn.functional.rms_norm(kv[..., :lora], (lora,), gamma, 1e-6)[:, 0, 0])
        x = torch.cat((kv[..., lora::2], kv[..., lora + 1 :: 2]), -1)
        half = torch.cat((-x[..., rope // 2 :], x[..., : rope // 2]), -1)
        turned.append((x * angles[step].cos() + half * angles[step].sin())[:, 0, 0])
    keys = [torch.stack(rows, 1)[:, None] for rows in (normed, turned)]
    assert_close(caches[1][:, :5, 0], keys[0][:, 0], 1e-2)
    q, q_rope = torch.randn(batch, 4, 1, lora), torch.randn(batch, 4, 1, rope)
    pools = [cache.transpose(1, 2).contiguous() for cache in caches]
    out, _ = torch_npu.npu_fused_infer_attention_score(
        q.half().npu(), pools[1], pools[1], query_rope=q_rope.half().npu(), key_rope=pools[0], num_heads=4,
        num_key_value_heads=1, input_layout="BNSD", scale=0.1, block_size=block, actual_seq_lengths_kv=[5, 5],
        block_table=torch.arange(batch, dtype=torch.int32)[:, None].npu(),
    )  # fmt: skip
    whole = torch.cat((q, q_rope), -1)
    wanted = [attention(whole[b], torch.cat([k[b] for k in keys], -1), keys[0][b], 0.1) for b in range(batch)]
    assert_close(out, torch.stack(wanted), 2e-2)


def test_a_quantised_mixture_is_that_of_the_numbers_it_stands_for() -> None:
    x, weight = torch.randn(TOKENS, 32), torch.randint(-100, 100, (2, 32, 32), dtype=torch.int8)
    scale, ends = torch.rand(2, 32) / 100, torch.tensor([2, TOKENS])
    rows, row_scale = torch_npu.npu_dynamic_quant(x.half().npu())
    out, out_scale = torch_npu.npu_grouped_matmul_swiglu_quant(
        x=rows, weight=torch_npu.npu_format_cast(weight.npu(), 29), group_list=ends.npu(), weight_scale=scale.npu(),
        x_scale=row_scale,
    )[:2]  # fmt: skip
    owner = torch.tensor([0, 0, 1, 1, 1, 1])
    product = torch.einsum("mk,mkn->mn", x, weight.float()[owner] * scale[owner][:, None])
    a, b = product.chunk(2, -1)
    wanted = torch.nn.functional.silu(a) * b
    assert_close(out.float() * out_scale[:, None], wanted, 0.02 * wanted.abs().max().item())
    y, _, total = torch_npu.npu_add_rms_norm_quant(
        x.half().npu(), x.half().npu(), torch.ones(32).half().npu(), torch.full((32,), 0.05).npu(), None
    )
    assert_close(total, (2 * x.half()).float(), 1e-3)
    assert (y.cpu().float() * 0.05 - torch.nn.functional.rms_norm(2 * x, (32,))).abs().max() < 0.03


@pytest.mark.parametrize("dtype", [HALF, torch.float32, torch.int8], ids=str)
def test_casting_the_format_keeps_the_values(dtype: torch.dtype) -> None:
    x = torch.randint(-9, 9, (32, 64)).to(dtype)
    cast = torch_npu.npu_format_cast(x.npu(), 29)
    assert torch.equal(cast.cpu(), x)
    assert torch.equal(torch_npu.npu_format_cast(cast, 2).cpu(), x)


def test_uninitialised_memory_is_filled_under_deterministic_algorithms() -> None:
    dtypes = (
        torch.float32,
        HALF,
        torch.bfloat16,
        torch.int8,
        torch.uint8,
        torch.int32,
        torch.int64,
        torch.bool,
    )
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    try:
        for dtype in dtypes:
            wanted, got = (torch.empty(3, dtype=dtype, device=device).cpu() for device in ("cpu", "npu"))
            torch.testing.assert_close(got, wanted, rtol=0, atol=0, equal_nan=True)
    finally:
        torch.use_deterministic_algorithms(False)
    # What does not fit is cut off, as a card does; it is no error.
    assert torch.zeros(2, dtype=torch.int8, device="npu").fill_(300).tolist() == [44, 44]
    assert torch.zeros(2, dtype=HALF, device="npu").fill_(1e10).tolist() == [math.inf, math.inf]
