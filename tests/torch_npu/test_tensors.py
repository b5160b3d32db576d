"""What a torch_npu user touches first: tensors made, read, indexed, reduced and changed in place."""

from collections.abc import Callable

import pytest
import torch

DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.bool]

Compute = Callable[[torch.Tensor], object]


def sample(dtype: torch.dtype = torch.float32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    return (torch.randn(4, 5, 6, generator=generator) * 4).abs().to(dtype)


def assert_same(compute: Compute, *inputs: torch.Tensor) -> None:
    """The same result on both devices, dtypes included."""
    wanted, got = compute(*inputs), compute(*(x.to("npu") for x in inputs))
    torch.testing.assert_close(as_cpu(got), wanted, rtol=1e-4, atol=1e-5)


def as_cpu(value: object) -> object:
    if isinstance(value, torch.Tensor):
        assert value.device.type == "npu"
        return value.cpu()
    return type(value)(map(as_cpu, value)) if isinstance(value, list) else value


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_tensor_comes_back_from_the_device_as_it_went(dtype: torch.dtype) -> None:
    x = sample(dtype)
    assert torch.equal(x.to("npu").cpu(), x)
    assert torch.equal(x.to("npu")[1:, ::2].cpu(), x[1:, ::2])
    assert torch.equal(x.transpose(0, 2).to("npu").cpu(), x.transpose(0, 2))


@pytest.mark.parametrize(
    "make",
    [
        lambda device: torch.zeros(2, 3, device=device),
        lambda device: torch.ones(2, 3, device=device, dtype=torch.int32),
        lambda device: torch.full((2, 3), 7.5, device=device),
        lambda device: torch.arange(10, device=device),
        lambda device: torch.arange(1, 2, 0.25, device=device),
        lambda device: torch.linspace(-1, 1, 5, device=device),
        lambda device: torch.eye(3, device=device),
        lambda device: torch.tensor([[1, 2], [3, 4]], device=device),
        lambda device: torch.zeros_like(torch.ones(3, device=device)),
        lambda device: torch.tril(torch.ones(4, 4, device=device)),
        lambda device: torch.ones(2, device=device).new_full((2,), 3),
    ],
)
def test_creation_functions_make_what_they_make_on_the_cpu(make: Callable[[str], torch.Tensor]) -> None:
    torch.testing.assert_close(as_cpu(make("npu")), make("cpu"))


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: x[1],
        lambda x: x[..., 2],
        lambda x: x[:, 1:4:2],
        lambda x: x[x > 2],
        lambda x: x[[0, 2]],
        lambda x: x[torch.tensor([0, 1], device=x.device), torch.tensor([1, 3], device=x.device)],
        lambda x: x.index_select(1, torch.tensor([4, 0], device=x.device)),
        lambda x: x.gather(2, torch.zeros(4, 5, 1, dtype=torch.int64, device=x.device)),
        lambda x: torch.where(x > 1, x, -x),
        lambda x: x.masked_fill(x > 1, 0.5),
        lambda x: (x > 3).nonzero(),
        lambda x: x.flatten().topk(3)[0],
        lambda x: x.sort(dim=1)[0],
        lambda x: torch.cat([x, x[:1]]),
        lambda x: torch.stack([x, x], dim=1),
        lambda x: list(x.split(2)),
        lambda x: x.permute(2, 0, 1).reshape(6, 20),
        lambda x: x.unsqueeze(0).expand(2, -1, -1, -1).contiguous(),
        lambda x: x.flip(0),
        lambda x: x.roll(1, 1),
        lambda x: x.repeat(1, 2, 1),
        lambda x: torch.nn.functional.pad(x, (1, 2)),
    ],
)
def test_indexing_and_shapes_are_those_of_the_cpu(compute: Compute) -> None:
    assert_same(compute, sample())


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: x.sum(),
        lambda x: x.sum(dim=1, keepdim=True),
        lambda x: x.mean(dim=(0, 2)),
        lambda x: x.max(),
        lambda x: list(x.max(dim=1)),
        lambda x: x.argmax(dim=2),
        lambda x: x.amin(dim=0),
        lambda x: x.var(dim=1),
        lambda x: x.std(),
        lambda x: x.norm(),
        lambda x: x.prod(dim=2),
        lambda x: x.cumsum(dim=1),
        lambda x: x.logsumexp(dim=2),
        lambda x: x.softmax(dim=-1),
        lambda x: (x > 1).any(dim=1),
        lambda x: (x > 0).all(),
        lambda x: x.sum().item(),
        lambda x: bool((x > 0).all()),
        lambda x: x[0].tolist(),
    ],
)
def test_reductions_are_those_of_the_cpu(compute: Compute) -> None:
    assert_same(compute, sample())


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: x.add_(1).mul_(2),
        lambda x: x.sub_(x.clone()),
        lambda x: x.div_(2.5),
        lambda x: x.clamp_(1, 3),
        lambda x: x.zero_(),
        lambda x: x.fill_(3),
        lambda x: x.copy_(torch.arange(6, device=x.device)),
        lambda x: x.exp_().log_(),
        lambda x: x.index_fill_(0, torch.tensor([1], device=x.device), 9),
        lambda x: x.scatter_(2, torch.zeros(4, 5, 1, dtype=torch.int64, device=x.device), 5.0),
        lambda x: x.index_add_(0, torch.tensor([0, 0], device=x.device), x[:2].clone()),
        lambda x: x.__setitem__((0, slice(None)), 7) or x,
        lambda x: x.__setitem__(x > 2, 0) or x,
        lambda x: x.transpose(0, 2).relu_(),
    ],
)
def test_in_place_changes_are_those_of_the_cpu(compute: Compute) -> None:
    assert_same(lambda x: compute(x.clone()), sample())


def test_printing_shows_values_and_device() -> None:
    assert repr(torch.tensor([1.5, -2.0], device="npu")) == "tensor([ 1.5000, -2.0000], device='npu:0')"


def test_gradients_flow_through_the_device() -> None:
    x, w = sample()[0], torch.linspace(-1, 1, 12).view(6, 2)

    def gradients(device: str) -> list[torch.Tensor]:
        a, b = x.to(device).requires_grad_(), w.to(device).requires_grad_()
        torch.tanh(a @ b).pow(2).sum().backward()
        assert a.grad is not None and b.grad is not None
        return [a.grad.cpu(), b.grad.cpu()]

    torch.testing.assert_close(gradients("npu"), gradients("cpu"), rtol=1e-4, atol=1e-5)


def test_random_numbers_depend_on_the_seed_and_have_the_right_moments() -> None:
    torch.npu.manual_seed(7)
    first = torch.randn(20000, device="npu")
    torch.npu.manual_seed(7)
    again = torch.randn(20000, device="npu")
    other = torch.randn(20000, device="npu")
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert abs(first.mean().item()) < 0.04 and abs(first.std().item() - 1) < 0.03
    uniform = torch.rand(20000, device="npu")
    assert 0 <= uniform.min().item() < 0.01 and 0.99 < uniform.max().item() < 1
    permutation = torch.randperm(100, device="npu")
    assert permutation.sort()[0].tolist() == list(range(100))


def test_a_normal_distribution_takes_tensors_for_its_moments() -> None:
    means = torch.arange(5, device="npu", dtype=torch.float32).repeat_interleave(4000)
    drawn = torch.normal(means, 0.5).view(5, 4000)
    torch.testing.assert_close(drawn.mean(dim=1).cpu(), torch.arange(5.0), atol=0.05, rtol=0)


def test_an_operator_that_is_not_emulated_raises_with_its_name_and_the_next_one_works() -> None:
    x = torch.ones(4, device="npu")
    with pytest.raises(RuntimeError, match="not implemented by the software NPU"):
        torch.ops.npu.npu_group_quant(
            torch.ones(2, 4, device="npu", dtype=torch.float16),
            torch.ones(1, 4, device="npu"),
            torch.full((1,), 2, device="npu", dtype=torch.int32),
        )
    assert (x + 1).sum().item() == 8
