"""Operators registered from Python, on cpu, npu and meta, with gradients."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor, library


@library.custom_op("tests::scaled_sum", mutates_args=())
def scaled_sum(x: Tensor, others: list[Tensor], scale: float = 2.0) -> Tensor:
    """scale * (x + the others)"""
    return scale * sum(others, x)


@scaled_sum.register_fake
def _(x, others, scale=2.0):
    return torch.empty_like(x)


def _setup(ctx, inputs, output):
    ctx.scale, ctx.count = inputs[2], len(inputs[1])


scaled_sum.register_autograd(
    lambda ctx, grad: (grad * ctx.scale, [grad * ctx.scale] * ctx.count, None), setup_context=_setup
)


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_an_operator_is_one_step_for_autograd_on_every_device(device):
    x = torch.ones(2, device=device, requires_grad=True)
    y = torch.ones(2, device=device, requires_grad=True)
    out = torch.ops.tests.scaled_sum(x, [y, y], scale=3.0)
    assert out.tolist() == [9.0, 9.0] and "scaled_sum" in out.grad_fn.name()
    out.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0] and y.grad.tolist() == [6.0, 6.0]


def test_on_meta_the_fake_implementation_runs():
    assert scaled_sum(torch.ones(2, 3, device="meta"), []).shape == (2, 3)


def test_kernels_are_chosen_by_device():
    library.define("tests::where_am_i", "(Tensor x) -> int")
    library.impl("tests::where_am_i", "cpu", lambda x: 1)
    library.register_kernel("tests::where_am_i", "npu", lambda x: 2)
    assert torch.ops.tests.where_am_i(torch.ones(1)) == 1
    assert torch.ops.tests.where_am_i(torch.ones(1, device="npu")) == 2
    with pytest.raises(NotImplementedError, match="no fake impl or Meta kernel registered"):
        torch.ops.tests.where_am_i(torch.ones(1, device="meta"))


def test_a_composite_kernel_is_differentiated_through_its_parts():
    fragment = library.Library("tests", "FRAGMENT")
    assert fragment.define("cube(Tensor x) -> Tensor") == "cube"
    fragment.impl("cube", lambda x: x * x * x)
    x = torch.tensor(2.0, requires_grad=True)
    torch.ops.tests.cube(x).backward()
    assert x.grad.item() == 12


def test_a_mutating_operator_changes_its_argument():
    @library.custom_op("tests::fill", mutates_args={"x"})
    def fill(x: Tensor, value: float) -> None:
        x.fill_(value)

    x = torch.zeros(2)
    assert fill(x, 3.0) is None and x.tolist() == [3.0, 3.0]
    assert "Tensor(a0!) x" in str(fill._opoverload._schema)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: scaled_sum(x), RuntimeError, "is missing value for argument 'others'"),
        (lambda x: scaled_sum(1, []), RuntimeError, "Expected a value of type 'Tensor' for argument 'x'"),
        (
            lambda x: scaled_sum(x, [], "a"),
            RuntimeError,
            "Expected a value of type 'float' for argument 'scale'",
        ),
        (lambda x: scaled_sum(x, [], 1.0, 2), RuntimeError, "takes 3 positional argument"),
        (lambda x: scaled_sum(x, [], more=2), RuntimeError, "Unknown keyword argument 'more'"),
        (
            lambda x: torch.ops.tests.nothing,
            AttributeError,
            "'_OpNamespace' 'tests' object has no attribute 'nothing'",
        ),
        (lambda x: library.custom_op("x", abs, mutates_args=()), ValueError, "namespace::name"),
        (
            lambda x: library.define("tests::bad", "Tensor"),
            ValueError,
            "wanted '\\(Tensor x, int k=1\\)",
        ),
        (
            lambda x: library.register_fake("tests::none", abs),
            RuntimeError,
            "There is no operator 'tests::none'",
        ),
    ],
)
def test_what_does_not_fit_the_schema_is_refused(call, error, text):
    with pytest.raises(error, match=text):
        call(torch.ones(2))


def test_results_must_be_new_and_backward_needs_a_formula():
    @library.custom_op("tests::same", mutates_args=())
    def same(x: Tensor) -> Tensor:
        return x

    @library.custom_op("tests::copy", mutates_args=())
    def copy(x: Tensor) -> Tensor:
        return x.clone()

    with pytest.raises(RuntimeError, match="must not also be an input to this custom operator"):
        same(torch.ones(1))
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        copy(torch.ones(1, requires_grad=True)).backward()


def test_a_kernel_may_come_before_the_definition():
    library.impl("tests::early", "CPU")(lambda x: x + 1)
    library.Library("tests", "IMPL").impl("earlier", lambda x: x * 5, "CPU")
    assert not hasattr(torch.ops.tests, "early")
    for name in ("early", "earlier"):
        library.define(f"tests::{name}", "(Tensor x) -> Tensor")
    x = torch.ones(2)
    assert torch.equal(torch.ops.tests.early(x), x + 1) and torch.equal(torch.ops.tests.earlier(x), x * 5)
    with pytest.raises(RuntimeError, match="There is no operator 'aten::no_such_operator'"):
        library.impl("aten::no_such_operator", "CPU")(lambda x: x)
