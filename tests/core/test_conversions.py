"""Conversions of devices, dtypes and memory formats; tests/parity/test_conversions.py compares them with PyTorch."""

import numpy as np
import pytest

import mindtorch_v2 as torch

SIGNATURES = """
 * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool copy = False, *, \
torch.memory_format memory_format = None)
 * (torch.dtype dtype, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)
 * (Tensor tensor, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)
"""


@pytest.fixture
def x():
    return torch.arange(6.0).reshape(2, 3)


# ---- to --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "convert",
    [
        lambda x: x.to("npu", torch.float16),
        lambda x: x.to(0, torch.float16),
        lambda x: x.to(dtype=torch.float16, device=torch.device("npu", 0)),
        lambda x: x.to(torch.ones(1, dtype=torch.float16, device="npu")),
        lambda x: x.to(tensor=torch.ones(1, dtype=torch.float16, device="npu"), copy=True),
        lambda x: x.type_as(torch.ones(1, dtype=torch.float16, device="npu")),
        lambda x: x.type("torch.npu.HalfTensor"),
        lambda x: x.npu().half(),
    ],
)
def test_device_and_dtype_may_be_said_in_many_ways(x, convert):
    made = convert(x)
    assert made.device == torch.device("npu:0") and made.dtype is torch.float16
    assert made.tolist() == x.tolist()


def test_a_tensor_that_is_already_there_is_given_back(x):
    first = x.to("npu:0")
    assert first.to("npu") is first and first.to(0) is first and first.npu() is first


def test_a_number_stands_for_a_tensor_of_the_host(x):
    made = x.npu().to(1.5)
    assert made.device.type == "cpu" and made.dtype is torch.float64
    assert x.to(True).dtype is torch.bool and x.to(2j).dtype is torch.complex128


@pytest.mark.parametrize(
    "call, got",
    [
        (lambda x: x.to(torch.float64, None), "(torch.dtype, NoneType)"),
        (lambda x: x.to(x, torch.float64), "(Tensor, torch.dtype)"),
        (lambda x: x.to("npu", device="npu"), "(str, device=str)"),
        (lambda x: x.to(other=x), "(other=Tensor, )"),
        (lambda x: x.to(torch.channels_last), "(torch.memory_format)"),
        (lambda x: x.to(memory_format=1), "(memory_format=int, )"),
        (lambda x: torch.nn.Linear(2, 2).to([1]), "(list)"),
    ],
)
def test_arguments_that_fit_no_overload_are_shown_beside_those_that_would(x, call, got):
    with pytest.raises(TypeError) as caught:
        call(x)
    start = f"to() received an invalid combination of arguments - got {got}, but expected one of:"
    assert str(caught.value) == start + SIGNATURES


def test_the_order_in_memory_changes_only_if_another_one_is_asked_for():
    x = torch.rand(2, 3, 4, 5)
    last = x.to(memory_format=torch.channels_last)
    assert last.stride() == (60, 1, 15, 3) and torch.equal(last, x)
    assert last.to(memory_format=torch.channels_last) is last and last.to("cpu") is last
    assert last.float(memory_format=torch.contiguous_format).stride() == x.stride()
    assert last.npu().stride() == last.stride()
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
        x[0].to(memory_format=torch.channels_last)


# ---- devices by name ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", [(), (None,), (0,), ("npu",), ("npu:0",), (torch.device("npu"), True)])
def test_npu_takes_a_device_of_its_own_kind(x, device):
    made = x.npu(*device)
    assert made.device == torch.device("npu:0") and made.npu(*device) is made


@pytest.mark.parametrize("name, device", [("npu", "cpu"), ("npu", "cuda"), ("cuda", "npu"), ("xpu", "cuda")])
def test_a_device_of_another_kind_is_refused(x, name, device):
    with pytest.raises(RuntimeError, match=f"^Invalid device, must be {name} device$"):
        getattr(x, name)(device)


def test_what_is_no_device_is_refused_with_its_type(x):
    with pytest.raises(
        TypeError, match=r"^npu\(\): argument 'device' \(position 1\) must be torch.device, not float"
    ):
        x.npu(1.5)
    with pytest.raises(TypeError, match=r"npu\(\) takes from 1 to 3 positional arguments but 4 were given"):
        x.npu(0, True, torch.contiguous_format)
    with pytest.raises(TypeError, match=r"^cpu\(\) takes 0 positional arguments but 1 was given"):
        x.cpu(torch.contiguous_format)


# ---- types ---------------------------------------------------------------------------------------------------


def test_the_name_of_a_type_has_its_device(x):
    assert x.type() == "torch.FloatTensor" and x.npu().half().type() == "torch.npu.HalfTensor"


def test_a_type_may_be_one_of_another_device(x):
    there = x.type("torch.npu.FloatTensor")
    assert there.device.type == "npu" and there.type("torch.npu.FloatTensor") is there
    assert there.type(torch.float64).device.type == "npu"
    assert there.type("torch.FloatTensor").device.type == "cpu"


# ---- around them -----------------------------------------------------------------------------------------------


def test_a_gradient_comes_back_as_what_was_converted(x):
    leaf = x.requires_grad_()
    (leaf.npu().half() * 2).to("cpu", torch.float64).sum().backward()
    assert leaf.grad.dtype is torch.float32 and leaf.grad.device.type == "cpu"
    assert leaf.grad.tolist() == [[2.0] * 3] * 2


def test_autocast_leaves_conversions_alone(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert x.to(torch.float64).dtype is torch.float64 and x.float() is x and x.type_as(x) is x


def test_a_module_keeps_integers_and_takes_the_rest_along():
    module = torch.nn.BatchNorm2d(3).to("npu", torch.float64)
    assert module.weight.device.type == "npu" and module.weight.dtype is torch.float64
    assert module.num_batches_tracked.device.type == "npu"
    assert module.num_batches_tracked.dtype is torch.int64


def test_a_module_is_converted_inside_a_mode_and_by_a_tensor_that_asks():
    class Asked(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs or {})

    with torch.device("npu"):
        assert torch.nn.Linear(2, 2).to(torch.float16).weight.dtype is torch.float16
    example = torch.ones(1, dtype=torch.float16).as_subclass(Asked)
    assert torch.nn.Linear(2, 2).to(example).weight.dtype is torch.float16


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("step", [2, 3])
def test_halves_of_a_window_become_floats_and_floats_halves(half, step):
    x = torch.arange(400, dtype=torch.float32) / 4
    wanted = x[::step].clone()
    assert torch.equal(x.to(half)[::step].float(), wanted.to(half).float())
    spread = torch.zeros(400, dtype=half)
    spread[::step] = x[::step]
    assert torch.equal(spread[::step], wanted.to(half)) and not spread[1::step].any()


@pytest.mark.parametrize("length", [1, 7, 8, 15, 16, 17, 63, 1000])
def test_floats_become_the_nearest_bfloat16_wherever_they_stand(length):
    words = np.random.default_rng(length).integers(0, 1 << 32, length, dtype=np.uint32)
    edges = [
        0x3F808000,
        0x3F818000,
        0x3F807FFF,
        0x7F7FFFFF,
        0x7F800000,
        0xFF800001,
        0x7FC12345,
        1,
        0x80008000,
    ]
    words[: len(edges)] = edges[:length]
    rounded = (words.astype(np.uint64) + 0x7FFF + ((words >> 16) & 1)) >> 16
    is_nan = (words & 0x7FFFFFFF) > 0x7F800000
    wanted = np.where(is_nan, (words >> 16) | 0x40, rounded).astype(np.int64)
    x = torch.from_numpy(words.view(np.float32))
    spread = torch.zeros(length, 2)
    spread[:, 0] = x
    for floats in (x, spread[:, 0]):
        halves = floats.bfloat16()
        assert (halves.view(torch.int16).long() & 0xFFFF).tolist() == wanted.tolist()
        assert torch.equal(halves.float().view(torch.int32), halves.view(torch.int16).int() << 16)
