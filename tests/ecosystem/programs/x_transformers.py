"""Transformers by options: positions, norms, gates, sparse and grouped attention; decoding, sequences, images."""

import torch
from x_transformers import (
    AutoregressiveWrapper,
    ContinuousTransformerWrapper,
    Decoder,
    Encoder,
    TransformerWrapper,
    ViTransformerWrapper,
    XTransformer,
)

OPTIONS = {
    "plain": {},
    "rotary": {"rotary_pos_emb": True},
    "xpos": {"rotary_xpos": True},
    "alibi": {"alibi_pos_bias": True},
    "relative": {"rel_pos_bias": True},
    "dynamic": {"dynamic_pos_bias": True},
    "gated": {"ff_glu": True, "ff_swish": True},
    "rms": {"use_rmsnorm": True},
    "grouped": {"attn_kv_heads": 2},
    "sandwich": {"sandwich_norm": True},
    "normed": {"attn_qk_norm": True},
    "fused": {"attn_flash": True},
    "memory": {"attn_num_mem_kv": 4},
    "talking": {"attn_pre_talking_heads": True},
    "sparse": {"attn_sparse_topk": 8},
    "shifted": {"shift_tokens": 1},
    "residual": {"gate_residual": True},
}


def train(model, loss_of):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(2):
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def run(device):
    out = {}
    torch.manual_seed(0)
    tokens = torch.randint(0, 64, (2, 32)).to(device)
    for name, options in OPTIONS.items():
        torch.manual_seed(1)
        layers = Decoder(dim=32, depth=2, heads=4, attn_dim_head=8, **options)
        model = TransformerWrapper(num_tokens=64, max_seq_len=64, attn_layers=layers)
        model = AutoregressiveWrapper(model).to(device)
        out[name] = train(model, lambda model=model: model(tokens))
    out["generated"] = model.eval().generate(tokens[:, :4], 8, temperature=0.0)

    pairs = XTransformer(
        dim=32, enc_num_tokens=64, enc_depth=1, enc_heads=2, enc_max_seq_len=32,
        dec_num_tokens=64, dec_depth=1, dec_heads=2, dec_max_seq_len=32,
    ).to(device)  # fmt: skip
    mask = torch.ones_like(tokens).bool()
    out["pairs"] = train(pairs, lambda: pairs(tokens, tokens.flip(1), mask=mask))
    images = ViTransformerWrapper(
        image_size=32, patch_size=8, num_classes=10, attn_layers=Encoder(dim=32, depth=2, heads=4)
    ).to(device)
    pictures = torch.randn(2, 3, 32, 32).to(device)
    out["images"] = train(images, lambda: images(pictures).square().mean())
    values = ContinuousTransformerWrapper(
        dim_in=5, dim_out=3, max_seq_len=32, attn_layers=Encoder(dim=32, depth=1, heads=4)
    ).to(device)
    series = torch.randn(2, 16, 5).to(device)
    out["values"] = train(values, lambda: values(series).square().mean())
    return out
