"""torch.npu: devices, properties, random numbers, memory."""

import os
import pickle
import subprocess
import sys

import pytest

import mindtorch_v2 as torch


def run(code, **changes):
    environment = {**os.environ, **changes}
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_importing_touches_no_driver():
    code = "import mindtorch_v2 as torch; print(torch.npu.is_initialized(), torch._C._npu.is_loaded())"
    assert run(code) == "False False"


def test_seeding_touches_no_driver():
    assert (
        run("import mindtorch_v2 as torch; torch.manual_seed(3); print(torch.npu.is_initialized())")
        == "False"
    )


def test_without_an_npu_the_error_names_both_ways():
    code = (
        "import mindtorch_v2 as torch\n"
        "print(torch.npu.is_available(), torch.npu.device_count())\n"
        "try: torch.ones(1, device='npu')\n"
        "except RuntimeError as error: print(error)"
    )
    text = run(code, MINDTORCH_NPU="hardware")
    assert text.startswith("False 0")
    assert "CANN" in text and "MINDTORCH_NPU=soft" in text


def test_the_software_npu_can_be_asked_for_and_sized_from_python():
    code = (
        "import mindtorch_v2 as torch\n"
        "from mindtorch_v2 import softnpu\n"
        "softnpu.use(devices=2, memory='96MiB')\n"
        "x = torch.ones(3, device='npu:1')\n"
        "print(torch.npu.device_count(), torch.npu.mem_get_info(1)[1] >> 20, x.sum().item())"
    )
    assert run(code, MINDTORCH_NPU="") == "2 96 3.0"


def test_two_devices_have_their_own_memory_and_streams():
    code = (
        "import mindtorch_v2 as torch\n"
        "from mindtorch_v2 import softnpu\n"
        "softnpu.use(devices=2)\n"
        "x = torch.arange(6, device='npu:1').reshape(2, 3)\n"
        "assert x.device == torch.device('npu:1') and torch.npu.current_device() == 0\n"
        "y = x.t().to('npu:0')\n"
        "assert y.tolist() == [[0, 3], [1, 4], [2, 5]], y\n"
        "with torch.npu.device(1):\n"
        "    assert torch.ones(1, device='npu').device.index == 1\n"
        "    assert torch.npu.current_stream() == torch.npu.default_stream(1)\n"
        "assert torch.npu.current_device() == 0\n"
        "assert (x + 1).sum().item() == 21 and torch.npu.current_device() == 0\n"
        "assert torch.npu.memory_allocated(0) > 0 and torch.npu.memory_allocated(1) > 0\n"
        "assert torch.npu.can_device_access_peer(0, 1)\n"
        "print('done')"
    )
    assert run(code) == "done"


def test_a_forked_child_gets_pytorchs_error():
    code = (
        "import os, mindtorch_v2 as torch\n"
        "torch.ones(1, device='npu')\n"
        "if (child := os.fork()) == 0:\n"
        "    try: torch.ones(1, device='npu')\n"
        "    except RuntimeError as error: os._exit(0 if 'forked subprocess' in str(error) else 1)\n"
        "    os._exit(2)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    assert run(code) == "0"


def test_the_process_ends_with_tensors_alive_and_work_in_flight():
    code = (
        "import mindtorch_v2 as torch\n"
        "kept = [torch.ones(100, device='npu') for _ in range(50)]\n"
        "side = torch.npu.Stream()\n"
        "kept[0].record_stream(side)\n"
        "y = kept[0] + kept[1]\n"
        "print('end')"
    )
    assert run(code) == "end"


def test_launch_blocking_waits_after_every_operator():
    code = (
        "import mindtorch_v2 as torch\n"
        "x = torch.ones(1000, device='npu')\n"
        "for _ in range(20):\n"
        "    x = x + 1\n"
        "    assert torch.npu.current_stream().query()\n"
        "print('idle')"
    )
    assert run(code, ASCEND_LAUNCH_BLOCKING="1", SOFTNPU_DELAY_US="200") == "idle"


def test_properties_describe_the_chip():
    properties = torch.npu.get_device_properties(0)
    assert properties.name == torch.npu.get_device_name() and properties.name.startswith("Ascend")
    assert properties.total_memory == torch.npu.mem_get_info()[1]
    assert properties.cube_core_num > 0 and properties.vector_core_num > 0
    assert repr(properties).startswith("_NPUDeviceProperties(name='Ascend")


def test_same_seed_same_numbers():
    torch.npu.manual_seed(5)
    first = torch.rand(100, device="npu").tolist()
    second = torch.rand(100, device="npu").tolist()
    torch.npu.manual_seed(5)
    assert torch.rand(100, device="npu").tolist() == first
    assert first != second
    assert not set(first) & set(second)


def test_the_generator_state_is_saved_and_restored():
    torch.npu.manual_seed(9)
    torch.rand(3, device="npu")
    state = torch.npu.get_rng_state()
    expected = torch.randn(5, device="npu").tolist()
    torch.npu.set_rng_state(state)
    assert torch.randn(5, device="npu").tolist() == expected


def test_random_numbers_fill_their_range():
    torch.manual_seed(1)
    uniform = torch.empty(20_000, device="npu").uniform_(-2, 3)
    assert uniform.amin().item() >= -2 and uniform.amax().item() < 3
    assert abs(uniform.mean().item() - 0.5) < 0.05
    normal = torch.randn(20_000, device="npu")
    assert abs(normal.mean().item()) < 0.05 and abs((normal * normal).mean().item() - 1) < 0.05
    integers = torch.randint(3, 7, (2000,), device="npu")
    assert sorted(set(integers.tolist())) == [3, 4, 5, 6]
    assert sorted(torch.randperm(100, device="npu").tolist()) == list(range(100))


def test_argmax_and_argmin_with_and_without_a_dimension():
    x = torch.tensor([[1.0, 9.0, 3.0], [7.0, 2.0, 8.0]], device="npu")
    assert x.argmax().item() == 1 and x.argmin().item() == 0
    assert x.t().argmax().item() == 2
    assert x.argmax(1).tolist() == [1, 2]
    assert x.argmin(0, keepdim=True).tolist() == [[0, 1, 0]]


def test_memory_is_counted_and_given_back():
    torch.npu.empty_cache()
    before = torch.npu.memory_allocated()
    x = torch.empty(1 << 20, dtype=torch.uint8, device="npu")
    assert torch.npu.memory_allocated() - before == 1 << 20
    assert torch.npu.memory_reserved() >= torch.npu.memory_allocated()
    del x
    assert torch.npu.memory_allocated() == before
    torch.npu.empty_cache()
    nested = torch.npu.memory_stats_as_nested_dict()
    assert nested["allocated_bytes"]["all"]["current"] == before


def test_a_snapshot_file_is_in_pytorchs_schema(tmp_path):
    torch.npu._record_memory_history()
    try:
        kept = torch.ones(1000, device="npu")
        path = tmp_path / "snapshot.pickle"
        torch.npu._dump_snapshot(str(path))
    finally:
        torch.npu._record_memory_history(None)
    snapshot = pickle.loads(path.read_bytes())
    assert set(snapshot) == {"segments", "device_traces", "allocator_settings", "external_annotations"}
    actions = [entry for entry in snapshot["device_traces"][0] if entry["action"] == "alloc"]
    frames = [frame["name"] for entry in actions for frame in entry["frames"]]
    assert "test_a_snapshot_file_is_in_pytorchs_schema" in frames
    del kept


def test_a_bad_device_argument_is_refused():
    with pytest.raises(ValueError, match="Expected an npu device"):
        torch.npu.synchronize("cpu")
    with pytest.raises(ValueError, match="0~1"):
        torch.npu.set_per_process_memory_fraction(1.5)


def test_histc_counts_integers_on_the_device():
    counted = torch.histc(torch.tensor([0, 2, 2, 3], dtype=torch.int32).npu(), bins=4, min=0, max=3)
    assert counted.dtype is torch.int32 and counted.tolist() == [1, 0, 2, 1]
