"""One defect per function, in programs of our framework. Run as ``python planted.py name``; never imported."""

import sys

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import runtime

DEVICE_TO_HOST, HOST_TO_DEVICE = 2, 1


def read_address(address: int, count: int) -> None:
    """Reads device memory by its address, as a library that keeps ``data_ptr()`` does."""
    runtime.get_runtime(0).synchronize()
    host = torch.empty(count, dtype=torch.uint8)
    runtime.acl.rt.memcpy(host.data_ptr(), count, address, count, DEVICE_TO_HOST)


def use_after_free_of_a_tensor():
    x = torch.ones(16, device="npu")
    address = x.data_ptr()
    del x
    read_address(address, 64)


def use_after_free_of_raw_memory():
    torch.npu.synchronize()
    address, code = runtime.acl.rt.malloc(64, 0)
    assert code == 0
    runtime.acl.rt.memset(address, 64, 0, 64)
    runtime.acl.rt.free(address)
    read_address(address, 64)


def out_of_bounds_of_a_tensor():
    x = torch.ones(16, device="npu")
    read_address(x.data_ptr(), 80)


def out_of_bounds_before_the_next_tensor():
    x = torch.ones(16, device="npu")
    torch.npu.synchronize()
    runtime.acl.rt.memset(x.data_ptr() + 64, 4, 0, 4)  # inside the allocator's block, behind the tensor


def uninitialised_operand():
    x = torch.empty(16, device="npu")
    print((x + 1).sum().item())


def uninitialised_copy_to_the_host():
    x = torch.empty(16, device="npu")
    x[:8].zero_()
    print(x.tolist())


def race_without_wait_stream():
    x = torch.ones(16, device="npu")
    torch.npu.synchronize()
    with torch.npu.stream(torch.npu.Stream()):
        x.mul_(2)
    (x + 1).sum().item()


def race_without_record_stream():
    side = torch.npu.Stream()
    x = torch.ones(16, device="npu")
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        y = x * 2
    del x  # should say x.record_stream(side)
    z = torch.zeros(16, device="npu")
    side.synchronize()
    print(y.data_ptr(), z.data_ptr())


def race_of_an_upload_and_its_use():
    x = torch.zeros(16, device="npu")
    pinned = torch.ones(16).pin_memory()
    torch.npu.synchronize()
    with torch.npu.stream(torch.npu.Stream()):
        x.copy_(pinned, non_blocking=True)
    (x + 1).sum().item()


def race_of_the_host_and_an_operator():
    x = torch.ones(16, device="npu")
    torch.npu.synchronize()
    x.mul_(2)
    host = torch.empty(64, dtype=torch.uint8)
    runtime.acl.rt.memcpy(host.data_ptr(), 64, x.data_ptr(), 64, DEVICE_TO_HOST)
    torch.npu.synchronize()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
