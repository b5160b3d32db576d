"""Copies between host and device: types, strides, pinned memory, and who waits."""

import os
import subprocess
import sys

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import softnpu

DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]


@pytest.mark.parametrize("name", DTYPES)
def test_values_survive_the_way_there_and_back(name):
    dtype = getattr(torch, name)
    x = torch.tensor([[0, 1, 2], [3, 4, 5]]).to(dtype)
    assert x.to("npu").to("cpu").tolist() == x.tolist()


@pytest.mark.parametrize("name", DTYPES)
def test_one_element_survives_the_way_there_and_back(name):
    x = torch.tensor([1]).to(getattr(torch, name))
    assert x.to("npu").cpu().tolist() == x.tolist()


def test_a_transposed_source_arrives_in_its_own_order():
    x = torch.arange(6).reshape(2, 3)
    assert x.t().to("npu").cpu().tolist() == x.t().tolist()


def test_a_strided_device_tensor_arrives_on_the_host():
    x = torch.arange(12).reshape(3, 4)
    y = x.to("npu")
    assert y.t().cpu().tolist() == x.t().tolist()
    assert y[:, 1:3].cpu().tolist() == x[:, 1:3].tolist()


def test_copy_into_a_strided_device_tensor():
    x = torch.zeros(3, 4, device="npu")
    x[:, 1:3].copy_(torch.arange(6).reshape(3, 2))
    assert x.cpu().tolist() == [[0, 0, 1, 0], [0, 2, 3, 0], [0, 4, 5, 0]]


def test_copy_casts_between_host_and_device():
    x = torch.zeros(3, device="npu", dtype=torch.int32)
    x.copy_(torch.tensor([1.9, -2.9, 3.0]))
    assert x.tolist() == [1, -2, 3]
    y = torch.zeros(3)
    y.copy_(x)
    assert y.tolist() == [1.0, -2.0, 3.0]


def test_a_one_element_copy_rounds_as_its_type_does():
    x = torch.zeros(2, device="npu", dtype=torch.uint8)
    x.copy_(torch.tensor(300))
    assert x.tolist() == [44, 44]


def test_copy_broadcasts_on_the_device():
    x = torch.zeros(2, 3, device="npu")
    x.copy_(torch.tensor([1.0, 2.0, 3.0], device="npu"))
    assert x.tolist() == [[1, 2, 3], [1, 2, 3]]


def test_an_empty_tensor_is_copied():
    assert torch.empty(0, 3).to("npu").cpu().shape == (0, 3)


def test_a_large_copy_arrives():
    x = torch.arange(5_000_000, dtype=torch.float32)  # above the size that is staged in pinned memory
    y = x.to("npu")
    assert y[-1].item() == 4_999_999
    assert np.array_equal(y.cpu().numpy(), x.numpy())


def test_a_host_tensor_may_change_right_after_the_copy_was_enqueued():
    torch.ones(1, device="npu")
    torch.npu.synchronize()
    x = torch.arange(100)
    with softnpu.gate(torch.npu.current_stream().npu_stream):
        y = x.to("npu")
        x.zero_()
    assert y.cpu().tolist() == list(range(100))


def test_a_copy_to_the_device_does_not_wait_for_it():
    torch.ones(1, device="npu")
    torch.npu.synchronize()
    x = torch.arange(1000)
    with softnpu.gate(torch.npu.current_stream().npu_stream):
        x.to("npu")
        assert not torch.npu.current_stream().query()


def test_a_copy_from_pinned_memory_is_asynchronous():
    x = torch.arange(1000).pin_memory()
    torch.npu.synchronize()
    with softnpu.gate(torch.npu.current_stream().npu_stream):
        y = x.to("npu", non_blocking=True)
        assert not torch.npu.current_stream().query()
    assert y.cpu().tolist() == list(range(1000))


def test_a_copy_to_pinned_memory_is_asynchronous():
    y = torch.arange(1000, device="npu")
    x = torch.zeros(1000, dtype=torch.int64).pin_memory()
    torch.npu.synchronize()
    with softnpu.gate(torch.npu.current_stream().npu_stream):
        x.copy_(y, non_blocking=True)
        assert x[5].item() == 0
    torch.npu.synchronize()
    assert x.tolist() == list(range(1000))


def test_pinned_memory_is_not_reused_while_a_copy_reads_it():
    x = torch.arange(1000).pin_memory()
    address = x.data_ptr()
    torch.npu.synchronize()
    with softnpu.gate(torch.npu.current_stream().npu_stream):
        y = x.to("npu", non_blocking=True)
        del x
        assert torch.zeros(1000, dtype=torch.int64).pin_memory().data_ptr() != address
    assert y.cpu().tolist() == list(range(1000))


def test_pin_memory_keeps_values_and_says_so():
    x = torch.tensor([1.5, 2.5])
    assert not torch.npu.is_pinned(x)
    pinned = x.pin_memory()
    assert torch.npu.is_pinned(pinned) and pinned.is_pinned()
    assert pinned.tolist() == [1.5, 2.5]
    assert pinned.pin_memory() is pinned


def test_only_host_memory_can_be_pinned():
    with pytest.raises(RuntimeError, match="cannot pin 'npu:0'"):
        torch.npu.pin_memory(torch.ones(1, device="npu"))


def test_item_reads_every_kind_of_number():
    assert torch.tensor(2.5, device="npu").item() == 2.5
    assert torch.tensor(7, device="npu").item() == 7
    assert torch.tensor(True, device="npu").item() is True


def test_storage_grows_and_keeps_its_contents():
    x = torch.arange(4, dtype=torch.uint8, device="npu")
    storage = x.untyped_storage()
    storage.resize_(8)
    assert storage.nbytes() == 8
    assert x.tolist() == [0, 1, 2, 3]


TWO_DEVICES = """
import mindtorch_v2 as torch
from mindtorch_v2 import softnpu

softnpu.use(devices=2, memory="256MiB")
values = torch.arange(1000, dtype=torch.float32)
first = values.to("npu:0")
second = values.to("npu:1")  # the pool of pinned memory serves both devices
assert second.tolist() == values.tolist() and torch.npu.current_device() == 0
with softnpu.gate(torch.npu.default_stream(1).npu_stream):
    held = values.to("npu:1")
    del held
    again = [values.to("npu:0") for _ in range(4)]  # must not overwrite what npu:1 has not read yet
    late = (values * 2).to("npu:1")
torch.npu.synchronize(1)
assert late.tolist() == (values * 2).tolist()
assert all(x.tolist() == values.tolist() for x in again)

side = torch.npu.Stream("npu:1")
shared = first.to("npu:1")
shared.record_stream(side)
first.record_stream(side)  # memory of npu:0 that a stream of npu:1 uses
del shared, first
assert (torch.ones(1000, device="npu:0") + 1).sum().item() == 2000
assert (torch.ones(1000, device="npu:1") + 1).sum().item() == 2000

storage = values.untyped_storage().npu(1)
assert storage.device == torch.device("npu:1") and storage.cpu().tolist() == values.untyped_storage().tolist()
there = torch.UntypedStorage(4000, device="npu:0").copy_(storage)
assert there.cpu().tolist() == storage.cpu().tolist()
assert values.to("npu:1").to("npu:0", non_blocking=True).tolist() == values.tolist()
print("done")
"""


CURRENT_DEVICE = """
import mindtorch_v2 as torch
from mindtorch_v2 import softnpu

softnpu.use(devices=2, memory="64MiB")
first, second = torch.device("npu:0"), torch.device("npu:1")
x = torch.ones(2).to("npu:0")
assert x.to("npu") is x
with torch.npu.device(1):
    assert x.to("npu").device == x.npu().device == torch.ones(2).to("npu").device == second
    assert x.to("npu:0") is x and x.npu(0) is x
other = x.to(second)
assert other.npu().device == first  # the current one, wherever the tensor is
assert other.type("torch.npu.FloatTensor") is other
assert other.type(torch.float64).device == second and other.type("torch.npu.DoubleTensor").device == second
print("done")
"""


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(TWO_DEVICES, id="pinned memory serves the streams of all devices"),
        pytest.param(CURRENT_DEVICE, id="a device without an index is the current one"),
    ],
)
def test_with_two_devices(program):
    environment = {**os.environ, "MINDTORCH_NPU": "soft"}
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "done"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32])
@pytest.mark.parametrize("count", [1, 1000])
def test_a_copy_from_pinned_memory_reads_it_when_the_stream_gets_there(dtype, count):
    pinned = torch.zeros(count).pin_memory()
    source, target = torch.full((count,), 5.0, device="npu"), torch.empty(count, dtype=dtype, device="npu")
    with softnpu.gate(torch.npu.current_stream().npu_stream):
        pinned.copy_(source, non_blocking=True)
        target.copy_(pinned, non_blocking=True)
        assert pinned[0].item() == 0  # nothing has been written yet
    assert target.tolist() == [5] * count
