"""Layers of neural networks on the npu: the same results and gradients as on the cpu."""

import numpy as np
import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F

LAYERS = {
    "a convolution": (lambda x, w, b: F.conv2d(x, w, b, 2, 1), (2, 4, 7, 7), (6, 4, 3, 3), (6,)),
    "a convolution of one dimension": (F.conv1d, (2, 4, 7), (6, 4, 3)),
    "a convolution in groups": (lambda x, w: F.conv2d(x, w, groups=2), (2, 4, 5, 5), (6, 2, 3, 3)),
    "a transposed convolution": (
        lambda x, w, b: F.conv_transpose2d(x, w, b, 2, 1, 1), (2, 4, 5, 5), (4, 6, 3, 3), (6,),
    ),
    "layer normalisation": (lambda x, w, b: F.layer_norm(x, [8], w, b), (3, 8), (8,), (8,)),
    "group normalisation": (lambda x, w, b: F.group_norm(x, 2, w, b), (3, 8, 4), (8,), (8,)),
    "batch normalisation": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True), (3, 8, 4, 4), (8,), (8,),
    ),
    "averages of windows": (lambda x: F.avg_pool2d(x, 2), (2, 3, 8, 8)),
    "averages of boxes": (lambda x: F.avg_pool3d(x, 2, 1, 1), (2, 3, 4, 4, 4)),
    "a number of averages": (lambda x: F.adaptive_avg_pool2d(x, 3), (2, 3, 8, 8)),
    "padding with zeros": (lambda x: F.pad(x, (1, 2)), (2, 3, 8)),
    "reflected edges": (lambda x: F.pad(x, (1, 2, 1, 1), mode="reflect"), (2, 3, 8, 8)),
    "repeated edges": (lambda x: F.pad(x, (1, 2), mode="replicate"), (2, 3, 8)),
    "windows as columns": (lambda x: F.unfold(x, 3), (2, 3, 8, 8)),
    "columns as an image": (lambda x: F.fold(x, (6, 6), 3), (2, 27, 16)),
    "linear interpolation": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (2, 3, 4, 4)),
    "cubic interpolation": (lambda x: F.interpolate(x, size=(7, 5), mode="bicubic"), (2, 3, 4, 4)),
    "the nearest neighbour": (lambda x: F.interpolate(x, size=(7, 5)), (2, 3, 4, 4)),
    "samples of a grid": (lambda x, g: F.grid_sample(x, g, align_corners=False), (2, 3, 4, 4), (2, 5, 5, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_gives_the_results_and_gradients_of_the_cpu(name):
    layer, *shapes = LAYERS[name]
    torch.manual_seed(0)
    inputs = [torch.randn(shape) for shape in shapes]
    found = []
    for device in ("cpu", "npu"):
        leaves = [x.clone().to(device).requires_grad_() for x in inputs]
        out = layer(*leaves)
        (out * out).sum().backward()
        found.append([x.cpu().numpy() for x in (out.detach(), *(leaf.grad for leaf in leaves))])
    for on_cpu, on_npu in zip(*found, strict=True):
        np.testing.assert_allclose(on_npu, on_cpu, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("lengths", [None, [5, 3, 2]], ids=["padded", "packed"])
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_a_recurrent_network_gives_the_results_and_gradients_of_the_cpu(kind, lengths):
    torch.manual_seed(0)
    network, x = getattr(torch.nn, kind)(4, 6, 2, bidirectional=True), torch.randn(5, 3, 4)
    found = []
    for device in ("cpu", "npu"):
        network.zero_grad()
        network.to(device)
        leaf = x.clone().to(device).requires_grad_()
        given = leaf if lengths is None else torch.nn.utils.rnn.pack_padded_sequence(leaf, lengths)
        output, _ = network(given)
        out = output if lengths is None else output.data
        (out * out).sum().backward()
        results = (out.detach(), leaf.grad, *(p.grad for p in network.parameters()))
        found.append([r.cpu().numpy() for r in results])
    for on_cpu, on_npu in zip(*found, strict=True):
        np.testing.assert_allclose(on_npu, on_cpu, rtol=1e-4, atol=1e-4)
