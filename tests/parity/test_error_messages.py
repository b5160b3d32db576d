"""Bad shapes, dtypes, devices and indices: PyTorch's exception type, and its words where we promise them."""

import pytest
import torch

import mindtorch_v2

# (call, words of the message that must agree). Empty: only the type is promised.
_CASES = {
    # shapes
    "add of sizes that do not broadcast": (
        lambda t: t.ones(2, 3) + t.ones(4),
        "The size of tensor a (3) must match the size of tensor b (4)",
    ),
    "in-place growth": (
        lambda t: t.ones(3).add_(t.ones(2, 3)),
        "output with shape [3] doesn't match the broadcast shape [2, 3]",
    ),
    "mm of sizes": (
        lambda t: t.ones(2, 3) @ t.ones(2, 3),
        "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)",
    ),
    "mm of a vector": (lambda t: t.mm(t.ones(3), t.ones(3, 2)), "self must be a matrix"),
    "bmm of sizes": (
        lambda t: t.bmm(t.ones(2, 3, 4), t.ones(2, 3, 4)),
        "Expected size for first two dimensions of batch2 tensor to be: [2, 4]",
    ),
    "bmm of matrices": (lambda t: t.bmm(t.ones(3, 4), t.ones(4, 3)), "batch1 must be a 3D tensor"),
    "addmm bias": (lambda t: t.addmm(t.ones(5), t.ones(2, 3), t.ones(3, 4)), ""),
    "dot of sizes": (lambda t: t.dot(t.ones(2), t.ones(3)), "inconsistent tensor size"),
    "dot of matrices": (lambda t: t.dot(t.ones(2, 2), t.ones(2, 2)), "1D tensors expected"),
    "matmul of a number": (
        lambda t: t.tensor(1.0) @ t.ones(2),
        "both arguments to matmul need to be at least 1D",
    ),
    "linear": (
        lambda t: t.nn.functional.linear(t.ones(2, 3), t.ones(4, 5)),
        "mat1 and mat2 shapes cannot be multiplied (2x3 and 5x4)",
    ),
    "view of another size": (lambda t: t.ones(6).view(4), "shape '[4]' is invalid for input of size 6"),
    "view with two holes": (lambda t: t.ones(6).view(-1, -1), "only one dimension can be inferred"),
    "view across strides": (
        lambda t: t.ones(2, 3).t().view(6),
        "view size is not compatible with input tensor's size and stride",
    ),
    "view of nothing into -1": (
        lambda t: t.ones(0).view(-1, 0),
        "cannot reshape tensor of 0 elements into shape [-1, 0]",
    ),
    "reshape": (lambda t: t.ones(6).reshape(4, -1), "shape '[4, -1]' is invalid for input of size 6"),
    "expand of a size": (
        lambda t: t.ones(2).expand(3),
        "The expanded size of the tensor (3) must match the existing size (2)",
    ),
    "expand to fewer dims": (
        lambda t: t.ones(2, 2).expand(2),
        "the number of sizes provided (1) must be greater or equal",
    ),
    "squeeze of a bad dim": (
        lambda t: t.ones(2).squeeze(3),
        "Dimension out of range (expected to be in range of [-1, 0], but got 3)",
    ),
    "unsqueeze of a bad dim": (
        lambda t: t.ones(2).unsqueeze(3),
        "Dimension out of range (expected to be in range of [-2, 1], but got 3)",
    ),
    "sum over a bad dim": (
        lambda t: t.ones(2, 3).sum(2),
        "Dimension out of range (expected to be in range of [-2, 1], but got 2)",
    ),
    "sum over a dim twice": (
        lambda t: t.ones(2, 3).sum((0, 0)),
        "dim 0 appears multiple times in the list of dims",
    ),
    "transpose of a bad dim": (lambda t: t.ones(2).transpose(0, 1), "Dimension out of range"),
    "t of three dims": (
        lambda t: t.ones(2, 2, 2).t(),
        "t() expects a tensor with <= 2 dimensions, but self is 3D",
    ),
    "permute of too few": (
        lambda t: t.ones(2, 2).permute(0),
        "input.dim() = 2 is not equal to len(dims) = 1",
    ),
    "permute twice": (lambda t: t.ones(2, 2).permute(0, 0), "permute(): duplicate dims are not allowed."),
    "cat of nothing": (lambda t: t.cat([]), "expected a non-empty list of Tensors"),
    "cat of sizes": (
        lambda t: t.cat([t.ones(2, 3), t.ones(2, 4)]),
        "Sizes of tensors must match except in dimension 0. Expected size 3 but got size 4",
    ),
    "cat of dims": (
        lambda t: t.cat([t.ones(2), t.ones(2, 2)]),
        "Tensors must have same number of dimensions",
    ),
    "cat of numbers": (
        lambda t: t.cat([t.tensor(1), t.tensor(2)]),
        "zero-dimensional tensor (at position 0) cannot be concatenated",
    ),
    "stack of sizes": (
        lambda t: t.stack([t.ones(2), t.ones(3)]),
        "stack expects each tensor to be equal size, but got [2] at entry 0 and [3] at entry 1",
    ),
    "split with wrong sizes": (
        lambda t: t.ones(5).split([2, 2]),
        "split_with_sizes expects split_sizes to sum exactly to 5",
    ),
    "split by a negative size": (lambda t: t.ones(5).split(-1), "split expects split_size be non-negative"),
    "chunk by nothing": (lambda t: t.ones(5).chunk(0), "chunk expects `chunks` to be greater than 0"),
    "narrow beyond": (
        lambda t: t.ones(5).narrow(0, 3, 4),
        "start (3) + length (4) exceeds dimension size (5).",
    ),
    "select beyond": (lambda t: t.ones(5).select(0, 9), "index 9 out of range"),
    "as_strided beyond": (lambda t: t.ones(5).as_strided((3,), (3,)), "out of bounds for storage of size 20"),
    "as_strided negative": (lambda t: t.ones(5).as_strided((3,), (-1,)), ""),
    "flatten backwards": (
        lambda t: t.ones(2, 2).flatten(1, 0),
        "flatten() has invalid args: start_dim cannot come after end_dim",
    ),
    "negative size": (lambda t: t.empty(-1), "Trying to create tensor with negative dimension -1: [-1]"),
    "copy_ of sizes": (
        lambda t: t.ones(2).copy_(t.ones(3)),
        "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0",
    ),
    "sum of sizes that differ twice": (
        lambda t: t.ones(2, 3, 4) + t.ones(2, 5, 6),
        "The size of tensor a (4) must match the size of tensor b (6) at non-singleton dimension 2",
    ),
    "diagonal of one dim": (
        lambda t: t.ones(2, 2).diagonal(0, 0, 0),
        "diagonal dimensions cannot be identical 0, 0",
    ),
    "empty max": (lambda t: t.ones(0).max(), "Expected reduction dim to be specified for input.numel() == 0"),
    "empty argmax": (
        lambda t: t.ones(0).argmax(),
        "Expected reduction dim to be specified for input.numel() == 0",
    ),
    "empty max along": (lambda t: t.ones(2, 0).max(1), "Expected reduction dim 1 to have non-zero size"),
    "arange of the wrong sign": (
        lambda t: t.arange(0, 5, -1),
        "upper bound and lower bound inconsistent with step sign",
    ),
    "arange without step": (lambda t: t.arange(0, 5, 0), "step must be nonzero"),
    # indices
    "index beyond": (lambda t: t.ones(2, 3)[2], "index 2 is out of bounds for dimension 0 with size 2"),
    "index beyond in the second place": (
        lambda t: t.ones(2, 3)[0, -4],
        "index -4 is out of bounds for dimension 1 with size 3",
    ),
    "too many indices": (lambda t: t.ones(2)[0, 0], "too many indices for tensor of dimension 1"),
    "index of a number": (lambda t: t.tensor(1)[0], "invalid index of a 0-dim tensor"),
    "negative step": (lambda t: t.ones(3)[::-1], "step must be greater than zero"),
    "index by a float": (
        lambda t: t.ones(3)[1.5],
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices",
    ),
    "assignment of a text": (
        lambda t: t.ones(3).__setitem__(0, "a"),
        "can't assign a str to a torch.FloatTensor",
    ),
    "assignment of sizes": (
        lambda t: t.ones(3).__setitem__(slice(None), t.ones(4)),
        "The expanded size of the tensor (3) must match the existing size (4) at non-singleton dimension 0",
    ),
    # dtypes
    "relu of booleans": (
        lambda t: t.relu(t.ones(2, dtype=t.bool)),
        "Boolean inputs not supported for relu",
    ),
    "relu_ of booleans": (
        lambda t: t.ones(2, dtype=t.bool).relu_(),
        "Boolean inputs not supported for relu",
    ),
    "relu6 of booleans": (
        lambda t: t.nn.functional.relu6(t.ones(2, dtype=t.bool)),
        "Bool inputs not supported for hardtanh",
    ),
    "hardtanh of booleans": (
        lambda t: t.nn.functional.hardtanh(t.ones(2, dtype=t.bool)),
        "Bool inputs not supported for hardtanh",
    ),
    "hardtanh of bytes": (
        lambda t: t.nn.functional.hardtanh(t.ones(2, dtype=t.uint8)),
        "cannot do hardtanh on an unsigned type with negative limits",
    ),
    **{
        f"{name} of complex numbers": (
            lambda t, name=name: getattr(t, name)(*[t.ones(2, dtype=t.complex64)] * 2),
            f"{name} not implemented for complex tensors.",
        )
        for name in ("maximum", "minimum", "fmax", "fmin")
    },
    **{
        f"{name} of complex numbers": (
            lambda t, name=name: getattr(t, name)(t.ones(2, dtype=t.complex64)),
            f"{name} is not supported for complex tensors.",
        )
        for name in ("deg2rad", "rad2deg")
    },
    "mean of integers": (lambda t: t.ones(2, dtype=t.int64).mean(), "mean(): could not infer output dtype."),
    "mm of dtypes": (
        lambda t: t.ones(2, 2) @ t.ones(2, 2, dtype=t.float64),
        "expected m1 and m2 to have the same dtype, but got: float != double",
    ),
    "in-place division of integers": (
        lambda t: t.ones(2, dtype=t.int64).div_(2),
        "result type Float can't be cast to the desired output type Long",
    ),
    "in-place float into integers": (
        lambda t: t.ones(2, dtype=t.int64).add_(1.5),
        "result type Float can't be cast to the desired output type Long",
    ),
    "out of another dtype": (
        lambda t: t.add(t.ones(2), 1, out=t.ones(2, dtype=t.int32)),
        "result type Float can't be cast to the desired output type Int",
    ),
    "alpha of a float for integers": (
        lambda t: t.add(t.ones(2, dtype=t.int64), t.ones(2, dtype=t.int64), alpha=1.5),
        "For integral input tensors, argument alpha must not be a floating point number.",
    ),
    "negation of bool": (
        lambda t: -t.tensor([True]),
        "Negation, the `-` operator, on a bool tensor is not supported.",
    ),
    "subtraction of bools": (
        lambda t: t.tensor([True]) - t.tensor([True]),
        "Subtraction, the `-` operator, with two bool tensors is not supported.",
    ),
    "inversion of floats": (lambda t: ~t.ones(2), "only implemented on integer and Boolean-type tensors"),
    "and of floats": (lambda t: t.ones(2) & t.ones(2), "not implemented for 'Float'"),
    "softmax of integers": (lambda t: t.ones(2, dtype=t.int64).softmax(0), "not implemented for 'Long'"),
    "where on floats": (
        lambda t: t.where(t.ones(2), t.ones(2), t.ones(2)),
        "where expected condition to be a boolean tensor, but got a tensor with dtype Float",
    ),
    "masked_fill by floats": (
        lambda t: t.ones(2).masked_fill(t.ones(2), 0),
        "masked_fill_ only supports boolean masks",
    ),
    "power of integers": (
        lambda t: t.ones(2, dtype=t.int64) ** -1,
        "Integers to negative integer powers are not allowed.",
    ),
    "remainder by zero": (lambda t: t.ones(2, dtype=t.int64) % 0, "ZeroDivisionError"),
    "division by zero": (lambda t: t.ones(2, dtype=t.int64) // 0, "ZeroDivisionError"),
    "ordering of complex": (lambda t: t.ones(2, dtype=t.complex64) < 1, ""),
    "argmax of complex": (lambda t: t.ones(2, dtype=t.complex64).argmax(), ""),
    "requires_grad of integers": (
        lambda t: t.ones(2, dtype=t.int64, requires_grad=True),
        "Only Tensors of floating point and complex dtype can require gradients",
    ),
    # losses
    "a class that does not exist": (
        lambda t: t.nn.functional.cross_entropy(t.ones(2, 3), t.tensor([0, 5])),
        "Target 5 is out of bounds.",
    ),
    "a negative class": (
        lambda t: t.nn.functional.cross_entropy(t.ones(2, 3), t.tensor([0, -1])),
        "Target -1 is out of bounds.",
    ),
    "batches that differ": (
        lambda t: t.nn.functional.cross_entropy(t.ones(2, 3), t.tensor([0, 1, 2])),
        "Expected input batch_size (2) to match target batch_size (3).",
    ),
    "classes in the wrong dtype": (
        lambda t: t.nn.functional.nll_loss(t.ones(2, 3), t.tensor([0, 1], dtype=t.int32)),
        "expected target dtype to be Long or Byte, but got Int",
    ),
    # arguments
    "an unknown keyword": (
        lambda t: t.add(t.ones(1), 1, beta=2),
        "add() got an unexpected keyword argument 'beta'",
    ),
    "an unknown keyword of one overload": (
        lambda t: t.exp(t.ones(1), foo=1),
        "exp() got an unexpected keyword argument 'foo'",
    ),
    "a missing argument": (lambda t: t.exp(), 'exp() missing 1 required positional arguments: "input"'),
    "a text for a tensor": (
        lambda t: t.exp("a"),
        "exp(): argument 'input' (position 1) must be Tensor, not str",
    ),
    "a list for a tensor": (lambda t: t.ones(2) + [1, 2], "unsupported operand type(s) for +"),
    "None added": (lambda t: t.ones(2) + None, "and 'NoneType'"),
    "a text among overloads": (
        lambda t: t.ones(2, 2).max("a"),
        "max() received an invalid combination of arguments - got (str), but expected",
    ),
    "a float for a size": (
        lambda t: t.ones(2.5),
        "ones(): argument 'size' (position 1) must be tuple of ints, not float",
    ),
    "a text for a dtype": (
        lambda t: t.ones(2, dtype="float32"),
        "ones(): argument 'dtype' must be torch.dtype, not str",
    ),
    "item of several": (lambda t: t.ones(2).item(), "a Tensor with 2 elements cannot be converted to Scalar"),
    "truth of several": (
        lambda t: bool(t.ones(2)),
        "Boolean value of Tensor with more than one value is ambiguous",
    ),
    "truth of none": (lambda t: bool(t.ones(0)), "Boolean value of Tensor with no values is ambiguous"),
    "len of a number": (lambda t: len(t.tensor(1)), "len() of a 0-d tensor"),
    "iteration over a number": (lambda t: list(t.tensor(1)), "iteration over a 0-d tensor"),
    "index by a tensor of floats": (
        lambda t: [1, 2][t.tensor(1.0)],
        "only integer tensors of a single element can be converted to an index",
    ),
    "ragged data": (lambda t: t.tensor([[1], [1, 2]]), "expected sequence of length 1 at dim 1 (got 2)"),
    "text as data": (lambda t: t.tensor("a"), "new(): invalid data type 'str'"),
    "None as data": (lambda t: t.tensor([None]), "Could not infer dtype of NoneType"),
    "clamp without bounds": (lambda t: t.ones(2).clamp(), "At least one of 'min' or 'max' must not be None"),
    "an overflow": (lambda t: t.ones(2**62, 4), ""),
    # devices
    "an unknown device": (lambda t: t.ones(2, device="nonsense"), "Expected one of cpu"),
    "a device that is no device": (lambda t: t.device("cpu:x"), "Invalid device string: 'cpu:x'"),
    "reading meta": (lambda t: t.ones(2, device="meta").tolist(), ""),
    "meta item": (
        lambda t: t.ones(1, device="meta").item(),
        "Tensor.item() cannot be called on meta tensors",
    ),
    "copying out of meta": (
        lambda t: t.ones(2, device="meta").cpu(),
        "Cannot copy out of meta tensor; no data!",
    ),
    "meta with cpu": (lambda t: t.ones(2, device="meta") @ t.ones(2), ""),
}


@pytest.mark.parametrize("name", list(_CASES))
def test_the_error_is_pytorchs(name):
    call, words = _CASES[name]
    with pytest.raises(Exception) as wanted:
        call(torch)
    assert words in str(wanted.value), "the table's words are not PyTorch's"
    with pytest.raises(type(wanted.value)) as got:
        call(mindtorch_v2)
    assert words in str(got.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda a, b: a + b,
        lambda a, b: a @ b,
        lambda a, b: mindtorch_v2.cat([a, b]),
        lambda a, b: mindtorch_v2.where(a > 0, a, b),
        lambda a, b: mindtorch_v2.add(a, 1, out=b),
        lambda a, b: a.add_(b),
    ],
)
def test_tensors_on_two_devices_are_refused_with_pytorchs_words(call):
    a, b = mindtorch_v2.ones(2, 2), mindtorch_v2.ones(2, 2, device="npu")
    for first, second in ((a, b), (b, a)):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            call(first, second)


def test_a_0_dim_cpu_tensor_may_meet_another_device():
    x = mindtorch_v2.ones(2, device="npu")
    assert (x + mindtorch_v2.tensor(2.0)).tolist() == [3, 3]
    assert (mindtorch_v2.tensor(2.0) * x).device.type == "npu"


def test_overlapping_memory_is_refused_as_in_pytorch():
    for lib in (torch, mindtorch_v2):
        z = lib.zeros(1, 3).expand(2, 3)
        for write in (
            lambda z=z: z.add_(1),
            lambda z=z, lib=lib: z.copy_(lib.ones(2, 3)),
            lambda z=z, lib=lib: lib.exp(z, out=z),
        ):
            with pytest.raises(
                RuntimeError,
                match="more than one element of the written-to tensor refers to a single memory location",
            ):
                write()
