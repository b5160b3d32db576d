"""Weights in 8 and 4 bits without CUDA: blockwise quantisation, Linear4bit with gradients, Linear8bitLt."""

import bitsandbytes as bnb
import torch
from bitsandbytes import functional as F
from torch import nn


def run(device: str):
    torch.manual_seed(5)  # no value in the middle of two codes, where the package's own ways differ
    found = {}
    # Rows of whole blocks: with AVX-512 the package's own kernel takes the wrong scales for others.
    values = torch.randn(8, 128)
    for kind in ("nf4", "fp4"):
        packed, state = F.quantize_4bit(values.to(device), blocksize=64, quant_type=kind)
        found[kind], found[f"{kind}_packed"] = F.dequantize_4bit(packed, state), packed
    packed, state = F.quantize_4bit(
        values.to(device), blocksize=64, compress_statistics=True, quant_type="nf4"
    )
    found["double"] = F.dequantize_4bit(packed, state)
    packed, state = F.quantize_blockwise(values.to(device), blocksize=64)
    found["blockwise"] = F.dequantize_blockwise(packed, state)
    rows, scales, _ = F.int8_vectorwise_quant(values.to(device).half())
    found["rows"], found["scales"] = rows, scales

    x = torch.randn(4, 64)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8))
    small = nn.Sequential(
        bnb.nn.Linear4bit(64, 128, quant_type="nf4"), nn.ReLU(), bnb.nn.Linear4bit(128, 8, quant_type="fp4")
    )
    small.load_state_dict(model.state_dict())
    small = small.to(device)  # quantised on the way
    given = x.to(device).requires_grad_()
    out = small(given)
    out.square().sum().backward()
    found["linear4"], found["linear4_gradient"] = out, given.grad
    state = {name: value for name, value in small.state_dict().items()}
    found["kept"] = float(sum(value.numel() * value.element_size() for value in state.values()))

    # Linear8bitLt computes otherwise on a cpu than on devices, so that its parts are compared.
    eight = bnb.nn.Linear8bitLt(64, 128, has_fp16_weights=False)
    eight.load_state_dict(model[0].state_dict())
    eight = eight.to(device)
    found["weight8"], found["scales8"] = eight.weight, eight.weight.SCB
    rows, scales, _ = F.int8_vectorwise_quant(x.to(device).half())
    product = F.int8_linear_matmul(rows, eight.weight.data)
    found["product8"] = F.int8_mm_dequant(product, scales, eight.weight.SCB, bias=eight.bias.half())
    apart = eight(x.to(device)) - model[0].to(device)(x.to(device))
    found["close8"] = float(apart.abs().max() < 0.05)

    embedding = bnb.nn.StableEmbedding(20, 16).to(device)
    found["embedding"] = embedding(torch.arange(6).to(device))
    return found
