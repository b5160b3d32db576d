"""Rows that PyTorch's operator database does not name, called directly; and a look that no row is left out."""

import pytest
import torch
from codegen.row import PACKAGES
from opcases import CALLABLE, ROWS, ours, sampled
from opinfo_bridge import OPS, Translator, compare, full_name

import mindtorch_v2


def _r(*shape):
    return torch.rand(shape) * 2 - 1


def _image(*spatial):
    return _r(2, 3, *spatial)


def _counts(*shape):
    return torch.full(shape, 5.0)


_NETWORK = (False, 1, 0.0, True, False)  # has_biases, num_layers, dropout, train, bidirectional
CASES = {
    "alias": lambda: (_r(2, 3),),
    "index.Tensor": lambda: (_r(4, 3), [None, torch.tensor([0, 2])]),
    "conv_tbc": lambda: (_r(5, 2, 3), _r(3, 3, 4), _r(4), 1),
    "convolution": lambda: (_image(5, 5), _r(6, 3, 3, 3), _r(6), [2, 2], [1, 1], [1, 1], False, [0, 0], 1),
    "fill_.Tensor": lambda: (_r(2, 3), torch.tensor(2.0)),
    "range": lambda: (0, 5, 2),
    "fft_fftfreq": lambda: (7, 0.5),
    "fft_rfftfreq": lambda: (8, 0.5),
    "index_put_": lambda: (_r(4, 3), [torch.tensor([0, 2, 0])], _r(3, 3), True),
    "embedding_renorm_": lambda: (_r(5, 3) * 4, torch.tensor([1, 3, 1]), 1.0, 2.0),
    "embedding_dense_backward": lambda: (_r(4, 3), torch.tensor([0, 2, 2, 1]), 5, 1, True),
    "elu_backward": lambda: (_r(4), 1.5, 1.0, 1.0, False, _r(4)),
    "glu_backward": lambda: (_r(4, 3), _r(4, 6), -1),
    "gelu_backward": lambda: (_r(4), _r(4)),
    "max_pool2d_with_indices": lambda: (_image(6, 6), [2, 3], [2, 1], [1, 1]),
    "max_pool3d_with_indices": lambda: (_image(4, 4, 4), [2, 2, 2]),
    "max_pool1d_with_indices": lambda: (_image(6), [3], [2], [1]),
    "_adaptive_avg_pool2d": lambda: (_image(5, 7), [3, 2]),
    "_adaptive_avg_pool3d": lambda: (_image(5, 4, 3), [2, 2, 2]),
    "bernoulli_.Tensor": lambda: (torch.zeros(20), torch.rand(20)),
    "random_": lambda: (torch.zeros(20),),
    "random_.to": lambda: (torch.zeros(20, dtype=torch.int64), 9),
    "exponential_": lambda: (torch.zeros(20), 2.0),
    "cauchy_": lambda: (torch.zeros(20), 1.0, 2.0),
    "log_normal_": lambda: (torch.zeros(20), 0.1, 0.5),
    "geometric_": lambda: (torch.zeros(20), 0.3),
    "poisson": lambda: (_counts(20),),
    "binomial": lambda: (_counts(20), torch.full((20,), 0.4)),
    "feature_dropout": lambda: (_image(4), 0.5, True),
    "native_dropout": lambda: (_r(20), 0.5, True),
    "unsafe_split_with_sizes": lambda: (_r(5, 2), [2, 3]),
    "reflection_pad1d": lambda: (_image(6), [2, 1]),
    "reflection_pad2d": lambda: (_image(4, 5), [2, 1, 3, 1]),
    "reflection_pad3d": lambda: (_image(4, 5, 3), [2, 1, 3, 1, 0, 2]),
    "replication_pad1d": lambda: (_image(6), [2, 7]),
    "replication_pad2d": lambda: (_image(4, 5), [2, 1, 6, 1]),
    "replication_pad3d": lambda: (_image(4, 5, 3), [2, 1, 3, 1, 0, 2]),
    "unfold_backward": lambda: (_r(2, 3, 4), [2, 8], 1, 4, 2),
    "im2col": lambda: (_image(5, 6), [2, 3], [1, 1], [1, 0], [2, 1]),
    "col2im": lambda: (_r(2, 12, 9), [4, 4], [2, 2], [1, 1], [0, 0], [1, 1]),
    "select_copy.int": lambda: (_r(3, 4), 1, 2),
    "slice_copy.Tensor": lambda: (_r(6, 2), 0, 1, 6, 2),
    "split_copy.Tensor": lambda: (_r(5, 2), 2),
    "upsample_nearest1d": lambda: (_image(4), [7]),
    "upsample_nearest2d": lambda: (_image(4, 3), [7, 2]),
    "upsample_nearest3d": lambda: (_image(4, 3, 2), [7, 2, 5]),
    "_upsample_nearest_exact1d": lambda: (_image(4), [7]),
    "_upsample_nearest_exact2d": lambda: (_image(4, 3), [7, 2]),
    "_upsample_nearest_exact3d": lambda: (_image(4, 3, 2), [7, 2, 5]),
    "upsample_linear1d": lambda: (_image(4), [7], False),
    "upsample_bilinear2d": lambda: (_image(4, 3), [7, 2], True),
    "upsample_trilinear3d": lambda: (_image(4, 3, 2), [7, 2, 5], False),
    "upsample_bicubic2d": lambda: (_image(4, 3), [7, 2], False),
    "_upsample_bilinear2d_aa": lambda: (_image(8, 9), [3, 4], False),
    "_upsample_bicubic2d_aa": lambda: (_image(8, 9), [3, 4], False),
    "grid_sampler": lambda: (_image(4, 5), _r(2, 3, 3, 2), 0, 1, False),
    "affine_grid_generator": lambda: (_r(2, 2, 3), [2, 3, 4, 5], True),
    "squeeze_": lambda: (_r(1, 3, 1),),
    "squeeze_.dim": lambda: (_r(1, 3, 1), -1),
    "squeeze_.dims": lambda: (_r(1, 3, 1), [0, 1]),
    "unsqueeze_": lambda: (_r(2, 3), 1),
    "transpose_": lambda: (_r(2, 3), 0, 1),
    "swapaxes_": lambda: (_r(2, 3), 0, 1),
    "t_": lambda: (_r(2, 3),),
    "as_strided_": lambda: (_r(6), [2, 2], [1, 2], 1),
    "bartlett_window": lambda: (7,),
    "blackman_window": lambda: (7,),
    "hann_window": lambda: (8,),
    "hamming_window": lambda: (1,),
    "kaiser_window": lambda: (7,),
    "lstm.input": lambda: (_r(3, 2, 4), [_r(1, 2, 5), _r(1, 2, 5)], [_r(20, 4), _r(20, 5)], *_NETWORK, False),
    "lstm.data": lambda: (_r(3, 4), torch.tensor([2, 1]), [_r(1, 2, 5)] * 2, [_r(20, 4), _r(20, 5)], *_NETWORK),
    "gru.input": lambda: (_r(3, 2, 4), _r(1, 2, 5), [_r(15, 4), _r(15, 5)], *_NETWORK, False),
    "gru.data": lambda: (_r(3, 4), torch.tensor([2, 1]), _r(1, 2, 5), [_r(15, 4), _r(15, 5)], *_NETWORK),
    "rnn_tanh.input": lambda: (_r(3, 2, 4), _r(1, 2, 5), [_r(5, 4), _r(5, 5)], *_NETWORK, False),
    "rnn_tanh.data": lambda: (_r(3, 4), torch.tensor([2, 1]), _r(1, 2, 5), [_r(5, 4), _r(5, 5)], *_NETWORK),
    "rnn_relu.input": lambda: (_r(3, 2, 4), _r(1, 2, 5), [_r(5, 4), _r(5, 5)], *_NETWORK, False),
    "rnn_relu.data": lambda: (_r(3, 4), torch.tensor([2, 1]), _r(1, 2, 5), [_r(5, 4), _r(5, 5)], *_NETWORK),
    "lstm_cell": lambda: (_r(2, 4), [_r(2, 5), _r(2, 5)], _r(20, 4), _r(20, 5)),
    "gru_cell": lambda: (_r(2, 4), _r(2, 5), _r(15, 4), _r(15, 5), _r(15), _r(15)),
    "rnn_tanh_cell": lambda: (_r(2, 4), _r(2, 5), _r(5, 4), _r(5, 5)),
    "_fused_rms_norm": lambda: (_r(2, 4), [4], _r(4), 1e-3),
    "_rowwise_prune": lambda: (_r(3, 2), torch.tensor([True, False, True]), torch.int32),
    "batch_norm_update_stats": lambda: (_image(4), _r(3), _r(3).abs(), 0.3),
    "embedding_bag": lambda: (_r(5, 3), torch.tensor([0, 4, 2, 2]), torch.tensor([0, 1, 1]), False, 2),
    "embedding_bag.padding_idx": lambda: (
        _r(5, 3), torch.tensor([0, 4, 2, 1]), torch.tensor([0, 3, 4]), False, 1, False, None, True, 4,
    ),
    "_embedding_bag": lambda: (_r(5, 3), torch.tensor([0, 4, 2]), torch.tensor([0, 2]), False, 0, False, _r(3)),
    "slice_inverse": lambda: (lambda x: (x[:, 1:3], x, 1, 1, 3))(_r(2, 4)),
    "detach_copy": lambda: (_r(2, 3).t(),),
    "view_as_real_copy": lambda: (torch.randn(2, 3, dtype=torch.complex64),),
    "view_as_complex_copy": lambda: (_r(3, 2),),
    "_conj_copy": lambda: (torch.randn(3, dtype=torch.complex64),),
    "_neg_view_copy": lambda: (_r(3),),
    "_reshape_alias_copy": lambda: (_r(2, 3), [3, 2], [1, 3]),
    "values_copy": lambda: (torch.eye(3).to_sparse_csr(),),
    "crow_indices_copy": lambda: (torch.eye(3).to_sparse_csr(),),
    "col_indices_copy": lambda: (torch.eye(3).to_sparse_csr(),),
    "ccol_indices_copy": lambda: (torch.eye(3).to_sparse_csc(),),
    "row_indices_copy": lambda: (torch.eye(3).to_sparse_csc(),),
    "unique_dim": lambda: (torch.tensor([[1, 2], [1, 2], [0, 1]]), 0, True, True, True),
    "nll_loss2d_forward": lambda: (_image(4, 5), torch.arange(40).view(2, 4, 5) % 3, torch.rand(3), 1, 2),
    "nll_loss_nd": lambda: (_image(4, 5), torch.arange(40).view(2, 4, 5) % 3, torch.rand(3), 2, 1),
    "rnn_relu_cell": lambda: (_r(2, 4), _r(2, 5), _r(5, 4), _r(5, 5)),
}  # fmt: skip
_RECORDED_OPS = {
    name.removeprefix("torch.").removeprefix("ops.aten.").removesuffix(".default")
    for op in OPS.values()
    for name in (op.name, full_name(op), *(alias.name for alias in op.aliases))
}


def _run_by_opinfo(row):
    prefixes = ("", "linalg.", "fft.", "special.", "nn.functional.")
    names = [row.cpp_name, *row.aliases, *(prefix + row.public_name for prefix in prefixes)]
    return any(name in _RECORDED_OPS for name in names)


def _is_piece(row):
    """Not for users: compositions and formulas call it, and are tested with it."""
    return row.cpp_name.startswith("_") or row.cpp_name.endswith("_backward")


# In test_conversions.py.
_CONVERSIONS = {"to.device", "to.dtype", "to.other", "to.number", "type", "type_as", "cpu", "cuda", "xpu"}
# In tests/core/test_numbers_and_outs.py.
_NUMBERS_AND_OUTS = {"copy_.number", "split_copy.Tensor_out"}
# In tests/core/test_rare_names.py: PyTorch has none of them on the cpu, or refuses.
_NOT_ON_THE_CPU = {
    "batch_norm_stats", "batch_norm_elemt", "batch_norm_gather_stats", "batch_norm_gather_stats_with_counts",
    "batch_norm_backward_reduce", "batch_norm_backward_elemt", "indices_copy", "ipu", "mtia",
}  # fmt: skip


def test_every_row_is_run_somewhere():
    tested = {r.name for r in sampled()} | set(CASES) | _CONVERSIONS | _NUMBERS_AND_OUTS | _NOT_ON_THE_CPU
    tested |= {r.name for r in CALLABLE if r.module in PACKAGES}  # tests/packages runs these
    tested |= {r.name for r in CALLABLE if r.area == "sparse"}  # and test_sparse*.py these
    left = [r.name for r in CALLABLE if r.name not in tested and not _run_by_opinfo(r) and not _is_piece(r)]
    assert left == []


@pytest.mark.parametrize("name", [name for name in CASES if name in ROWS])
def test_row(name):
    row = ROWS[name]
    torch.manual_seed(1)
    args = CASES[name]()
    mine = Translator(mindtorch_v2)(args)
    function = getattr(torch, row.cpp_name, None) or getattr(torch.ops.aten, row.cpp_name)
    torch.manual_seed(2)
    wanted = function(*args)
    mindtorch_v2.manual_seed(2)
    compare(ours(row)(*mine), wanted, name)
