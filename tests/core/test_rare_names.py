"""Names that few programs use: batch norms over processes, bags, eigenvalues by products, copies of windows."""

import inspect
from collections import OrderedDict

import numpy as np
import pytest

import mindtorch_v2 as torch

DEVICES = ["cpu", "npu"]


@pytest.mark.parametrize("device", DEVICES)
def test_parts_of_a_batch_norm_over_processes_make_that_of_the_whole(device):
    torch.manual_seed(0)
    x = torch.randn(6, 3, 4, device=device)
    weight, bias = torch.rand(3, device=device) + 0.5, torch.randn(3, device=device)
    slope = torch.randn(6, 3, 4, device=device)
    sizes, eps = [1, 2, 3], 1e-5
    parts, slopes = x.split(sizes), slope.split(sizes)
    stats = [torch.batch_norm_stats(part, eps) for part in parts]
    means, inverses = (torch.stack(list(each)) for each in zip(*stats, strict=True))
    counts = torch.tensor([float(n * 4) for n in sizes], device=device)
    running = torch.zeros(3, device=device), torch.ones(3, device=device)
    mean, inverse = torch.batch_norm_gather_stats_with_counts(x, means, inverses, *running, 0.1, eps, counts)
    made = torch.cat([torch.batch_norm_elemt(part, weight, bias, mean, inverse, eps) for part in parts])

    whole = torch.zeros(3, device=device), torch.ones(3, device=device)
    inputs = [t.clone().requires_grad_() for t in (x, weight, bias)]
    wanted = torch.nn.functional.batch_norm(inputs[0], *whole, *inputs[1:], training=True, eps=eps)
    torch.testing.assert_close(made, wanted.detach(), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(running[0], whole[0])
    torch.testing.assert_close(running[1], whole[1])

    sums = [
        torch.batch_norm_backward_reduce(g, part, mean, inverse, weight, True, True, True)
        for g, part in zip(slopes, parts, strict=True)
    ]
    total, centred, to_weight, to_bias = (sum(each) for each in zip(*sums, strict=True))
    to_input = torch.cat(
        [
            torch.batch_norm_backward_elemt(g, part, mean, inverse, weight, total, centred, counts.int())
            for g, part in zip(slopes, parts, strict=True)
        ]
    )
    wanted.backward(slope)
    for got, leaf in zip((to_input, to_weight, to_bias), inputs, strict=True):
        torch.testing.assert_close(got, leaf.grad, rtol=1e-4, atol=1e-4)


def test_sums_of_a_batch_norm_that_are_not_wanted_are_none():
    x, ones = torch.randn(4, 2), torch.ones(2)
    found = torch.batch_norm_backward_reduce(x, x, ones, ones, None, False, False, True)
    assert [each is None for each in found] == [True, True, True, False]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_embedding_bag_says_what_its_bags_are(device, mode):
    weight = torch.tensor([[1.0, 9.0], [2.0, 8.0], [3.0, 7.0]], device=device)
    indices, offsets = (torch.tensor(v, device=device) for v in ([2, 0, 1, 1], [0, 2, 2]))
    made, bags, lengths, rows = torch.embedding_bag(weight, indices, offsets, False, mode)
    wanted = [[[4, 16], [0, 0], [4, 16]], [[2, 8], [0, 0], [2, 8]], [[3, 9], [0, 0], [2, 8]]][mode]
    assert made.tolist() == wanted
    if mode:
        assert (bags.tolist(), lengths.tolist()) == ([0, 0, 2, 2], [2, 0, 2])
    if mode == 2:
        assert rows.tolist() == [[2, 0], [0, 0], [1, 1]]


@pytest.mark.parametrize("largest", [True, False])
def test_lobpcg_finds_the_eigenvalues_at_one_end(largest):
    torch.manual_seed(1)
    A = torch.randn(2, 30, 30, dtype=torch.float64)
    A = A @ A.mT + torch.eye(30, dtype=torch.float64)
    values, vectors = torch.lobpcg(A, k=3, largest=largest, tol=1e-10)
    every = torch.linalg.eigvalsh(A)
    torch.testing.assert_close(values, every.flip(-1)[:, :3] if largest else every[:, :3])
    torch.testing.assert_close(A @ vectors, vectors * values.unsqueeze(1), rtol=0, atol=1e-5)


def test_lobpcg_takes_sparse_matrices_and_a_second_one():
    torch.manual_seed(1)
    A = torch.diag(torch.arange(1.0, 31.0, dtype=torch.float64))
    B = torch.diag(torch.linspace(1, 2, 30, dtype=torch.float64))
    values, _ = torch.lobpcg(A.to_sparse(), k=2, B=B.to_sparse(), tol=1e-10)
    torch.testing.assert_close(values, (A.diagonal() / B.diagonal()).sort(descending=True).values[:2])


def test_the_gradient_of_lobpcg_is_that_of_eigh():
    torch.manual_seed(1)
    A = torch.randn(12, 12, dtype=torch.float64)
    A = A @ A.mT
    mine, other = A.clone().requires_grad_(), A.clone().requires_grad_()
    values, vectors = torch.lobpcg(mine, k=2, tol=1e-14, niter=300)
    (values.sum() + (vectors**4).sum()).backward()
    values, vectors = torch.linalg.eigh(other)
    (values[-2:].sum() + (vectors[:, -2:] ** 4).sum()).backward()
    torch.testing.assert_close(mine.grad, (other.grad + other.grad.mT) / 2)


@pytest.mark.parametrize("device", DEVICES)
def test_copies_of_windows_have_memory_of_their_own(device):
    z = torch.randn(2, 2, dtype=torch.complex64).to(device)
    x = torch.randn(2, 2, device=device)
    sparse = torch.eye(3, device=device).to_sparse_csr()
    for made, window in (
        (torch.view_as_real_copy(z), torch.view_as_real(z)),
        (torch.view_as_complex_copy(x), torch.view_as_complex(x)),
        (torch._conj_copy(z), z.conj()),
        (torch._neg_view_copy(x), -x),
        (torch.detach_copy(x.t()), x.t()),
        (torch._reshape_alias_copy(x, [4], [1]), x.reshape(4)),
        (torch.crow_indices_copy(sparse), sparse.crow_indices()),
        (torch.col_indices_copy(sparse), sparse.col_indices()),
        (torch.values_copy(sparse), sparse.values()),
    ):
        assert made.is_contiguous() and made._base is None
        assert made.untyped_storage().data_ptr() != window.untyped_storage().data_ptr()
        torch.testing.assert_close(made, window)


def test_slice_inverse_is_what_the_slice_was_taken_of():
    x = torch.arange(12.0).reshape(3, 4)
    back = x[:, 1:3].slice_inverse(x, 1, 1, 3)
    back[0, 0] = 7
    assert x[0, 0] == 7 and back.shape == x.shape


def test_rowwise_prune_keeps_rows_and_says_where_they_went():
    kept, places = torch._rowwise_prune(
        torch.arange(6.0).reshape(3, 2), torch.tensor([True, False, True]), torch.int32
    )
    assert kept.tolist() == [[0, 1], [4, 5]] and places.tolist() == [0, -1, 1]
    assert places.dtype is torch.int32


@pytest.mark.parametrize("name", ["fix", "absolute", "multiply", "swapdims", "arccos", "true_divide", "clip"])
def test_another_name_of_an_operator_is_a_function_of_its_own(name):
    function, method = getattr(torch, name), getattr(torch.Tensor, name)
    assert function.__name__ == name and method.__name__ == name
    with pytest.raises(TypeError, match=rf"^{name}\(\)"):
        function("a")

    class Logged(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func

    x = torch.ones(2, 2).as_subclass(Logged)
    arguments = {"multiply": (x,), "true_divide": (x,), "swapdims": (0, 1), "clip": (0, 1)}.get(name, ())
    assert function(x, *arguments) is function
    assert getattr(x, name)(*arguments) is method


def test_the_hooks_of_a_tensor_can_be_read_and_set():
    x = torch.ones(2, requires_grad=True)
    assert x._backward_hooks is None and x._post_accumulate_grad_hooks is None

    def double(grad):
        return grad * 2

    handle = x.register_hook(double)
    assert list(x._backward_hooks.values()) == [double]
    handle.remove()
    assert x._backward_hooks is None
    x._backward_hooks = OrderedDict({0: double})
    x.sum().backward()
    assert x.grad.tolist() == [2, 2]
    seen = x.register_post_accumulate_grad_hook(lambda leaf: None)
    assert len(x._post_accumulate_grad_hooks) == 1
    seen.remove()
    y = x * 2
    y.register_hook(double)
    assert list(y._backward_hooks.values()) == [double] and y._grad_fn is y.grad_fn


def test_a_gradient_of_another_dtype_is_refused():
    x = torch.ones(2, requires_grad=True)
    assert x.grad_dtype is torch.float32
    x.grad_dtype = torch.float32
    with pytest.raises(NotImplementedError, match="gradients have the dtype of their tensor"):
        x.grad_dtype = torch.float64


def test_index_takes_dimensions_by_their_position():
    x = torch.arange(24).reshape(2, 3, 4)
    assert x.index(1, 2).tolist() == x[:, 2].tolist()
    assert x.index([0, -1], [1, slice(0, 2)]).tolist() == x[1, :, :2].tolist()
    assert x.index([(0, 1)], [3]).tolist() == x.reshape(6, 4)[3].tolist()


def test_functions_of_symbolic_numbers_ask_them():
    class Symbol:
        def __sym_cos__(self):
            return "cos"

    assert torch._sym_cos(Symbol()) == "cos"
    assert torch._sym_sqrt(4) == 2.0
    assert torch._sym_tanh.__module__ == torch.__name__


def test_a_mode_is_asked_for_a_device():
    class Elsewhere(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            if func is torch.device and args == (0,):
                args = ("xla", 0)
            return func(*args, **(kwargs or {}))

    with Elsewhere():
        assert str(torch.device(0)) == "xla:0"
        assert torch.device(device="cpu").type == "cpu"


def test_products_in_a_wider_dtype_are_the_accelerators():
    a, b = torch.randn(2, 3).half(), torch.randn(3, 2).half()
    with pytest.raises(NotImplementedError, match=r"aten::mm\.dtype"):
        torch.mm(a, b, torch.float32)
    wanted = a.float() @ b.float()
    got = torch.mm(a.npu(), b.npu(), out_dtype=torch.float32)
    np.testing.assert_allclose(got.cpu().numpy(), wanted.numpy(), rtol=1e-6)
    with pytest.raises(RuntimeError, match="out_dtype must be the same as input dtype"):
        torch.mm(a.npu(), b.npu(), out_dtype=torch.float64)


def test_old_names_of_sparse_products_are_functions():
    a, b = torch.eye(3).to_sparse(), torch.arange(9.0).reshape(3, 3)
    for function in (torch.smm, torch.dsmm, torch.hsmm, torch.spmm):
        assert inspect.isbuiltin(function)
        assert function(a, b).to_dense().tolist() == b.tolist()
    assert torch.saddmm(a, a, b).to_dense().tolist() == (torch.eye(3) + b).tolist()
    assert torch.native_norm(a).item() == pytest.approx(3**0.5)


def test_what_pytorch_refuses_is_refused():
    x, sparse = torch.ones(2), torch.eye(3).to_sparse()
    for call in (lambda: x.ipu(), lambda: x.mtia()):
        with pytest.raises(RuntimeError, match="not linked with support for"):
            call()
    for function in (torch.indices_copy, torch._indices_copy, torch.values_copy, torch._values_copy):
        with pytest.raises(NotImplementedError, match="'SparseCPU' backend"):
            function(sparse)
    with pytest.raises(NotImplementedError, match="'CPU' backend"):
        torch.native_norm(x)
    with pytest.raises(RuntimeError, match="inference mode"):
        torch._fw_primal_copy(x, 0)
    with pytest.raises(RuntimeError, match="expects a complex tensor"):
        torch._conj_copy(x)


def test_statistics_of_parts_of_one_size_are_gathered():
    x = torch.randn(8, 3)
    stats = [torch.batch_norm_stats(part, 1e-5) for part in x.split(2)]
    means, inverses = (torch.stack(list(each)) for each in zip(*stats, strict=True))
    mean, inverse = torch.batch_norm_gather_stats(x, means, inverses, None, None, 0.1, 1e-5, 2)
    wanted = torch.batch_norm_stats(x, 1e-5)
    torch.testing.assert_close(mean, wanted[0])
    torch.testing.assert_close(inverse, wanted[1], rtol=1e-4, atol=1e-4)
