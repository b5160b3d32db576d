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


def test_a_software_npu_without_devices_can_be_given_some():
    code = (
        "import mindtorch_v2 as torch\n"
        "from mindtorch_v2 import softnpu\n"
        "softnpu.use(devices=0)\n"
        "print(torch.npu.is_available(), torch.npu.device_count())\n"
        "try:\n"
        "    torch.ones(1, device='npu')\n"
        "except RuntimeError as error:\n"
        "    print('ACL_ERROR_RT_NO_DEVICE' in str(error), '..' in str(error))\n"
        "softnpu.use(devices=2)\n"
        "print(torch.npu.device_count(), torch.ones(1, device='npu:1').device)"
    )
    assert run(code) == "False 0\nTrue False\n2 npu:1"


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


def test_counting_devices_leaves_the_process_free_to_fork():
    code = (
        "import os, mindtorch_v2 as torch\n"
        "print(torch.npu.device_count(), torch.accelerator.device_count(), torch.npu.is_initialized())\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    ok = torch.ones(2, device='npu').sum().item() == 2\n"
        "    os._exit(0 if ok else 1)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    assert run(code) == "1 1 False\n0"


def test_a_forked_child_of_a_process_that_used_an_npu_can_still_count_them():
    code = (
        "import os, warnings, mindtorch_v2 as torch\n"
        "warnings.simplefilter('ignore')  # Python 3.12 warns of forks beside threads\n"
        "pool = torch.npu.MemPool()\n"
        "with torch.npu.use_mem_pool(pool):\n"
        "    x = torch.ones(2, device='npu')\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    del x, pool\n"
        "    torch.npu.empty_cache()\n"
        "    fine = torch.npu.device_count() == 1 and torch.npu._is_in_bad_fork() and not torch.npu.is_initialized()\n"
        "    os._exit(0 if fine else 1)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (result.stdout, result.stderr) == ("0\n", "")


@pytest.mark.parametrize("device", ["npu", "cpu"])
def test_the_process_ends_while_daemon_threads_compute(device):
    code = (
        "import threading, mindtorch_v2 as torch\n"
        "started = threading.Event()\n"
        "def work():\n"
        "    while True:\n"
        f"        torch.ones(200_000, device='{device}').exp().sum().item()\n"
        "        started.set()\n"
        "for _ in range(2):\n"
        "    threading.Thread(target=work, daemon=True).start()\n"
        "started.wait()\n"
        "print('end')"
    )
    assert run(code) == "end"


@pytest.mark.parametrize("device", ["npu", "cpu"])
def test_the_process_ends_while_daemon_threads_are_in_python_that_we_call(device):
    code = (
        "import threading, mindtorch_v2 as torch\n"
        "started = threading.Event()\n"
        "class Twice(torch.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, x):\n"
        "        return x * 2\n"
        "    @staticmethod\n"
        "    def backward(ctx, grad):\n"
        "        return grad * sum(2 for _ in range(300)) / 300\n"
        "def work():\n"
        "    while True:\n"
        f"        x = torch.ones(300, device='{device}', requires_grad=True)\n"
        "        x.register_hook(lambda grad: grad * 1)\n"
        "        Twice.apply(x).sum().backward()\n"
        "        started.set()\n"
        "for _ in range(2):\n"
        "    threading.Thread(target=work, daemon=True).start()\n"
        "started.wait()\n"
        "print('end')"
    )
    assert run(code) == "end"


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


@pytest.mark.parametrize(
    "ask",
    [
        lambda: torch.npu.memory_allocated(7),
        lambda: torch.npu.memory_stats("npu:7"),
        lambda: torch.npu.memory_summary(7),
        lambda: torch.npu.reset_peak_memory_stats(7),
        lambda: torch.npu.set_per_process_memory_fraction(0.5, 7),
        lambda: torch.npu.caching_allocator_alloc(64, 7),
        lambda: torch.accelerator.memory_reserved(7),
    ],
)
def test_memory_of_a_device_that_does_not_exist_is_refused(ask):
    with pytest.raises(RuntimeError, match="Invalid NPU device index 7: there is 1 device"):
        ask()


def test_properties_of_a_device_that_does_not_exist_are_pytorchs_error():
    for ask in (torch.npu.get_device_name, torch.npu.get_device_properties, torch.npu.get_device_capability):
        with pytest.raises(AssertionError, match="Invalid device id"):
            ask(7)


def test_every_device_has_an_identity():
    code = (
        "import mindtorch_v2 as torch\n"
        "a, b = (torch.npu.get_device_properties(i) for i in range(2))\n"
        "print(len(a.uuid), a.uuid != b.uuid, a.multi_processor_count == a.vector_core_num, a.uuid in repr(a))"
    )
    assert run(code, SOFTNPU_DEVICES="2") == "36 True True True"


def test_a_device_index_is_asked_for_as_in_pytorch():
    index_of = torch.npu._get_device_index
    assert index_of("npu:0") == index_of(0) == index_of(None, optional=True) == 0
    assert index_of("cpu", allow_cpu=True) == -1
    for device in (None, "npu"):
        with pytest.raises(ValueError, match=f"with a specified index or an integer, but got:{device}"):
            index_of(device)


def test_only_an_npu_can_be_moved_to_with_npu():
    for thing in (torch.ones(2), torch.nn.Linear(2, 2), torch.ones(2).untyped_storage()):
        with pytest.raises(RuntimeError, match="Invalid device, must be npu device"):
            thing.npu("cpu")


def test_the_name_of_a_type_converts_to_it():
    x = torch.ones(2).type("torch.npu.HalfTensor")
    assert x.type() == "torch.npu.HalfTensor" and isinstance(x, torch.npu.HalfTensor)
    assert torch.ones(2, dtype=torch.int32).type(torch.npu.FloatTensor).device.type == "npu"
    with pytest.raises(ValueError, match="invalid type: 'torch.npu.NoTensor'"):
        x.type("torch.npu.NoTensor")


def test_old_names_say_what_replaced_them():
    with pytest.warns(
        FutureWarning, match="`torch.npu.memory_cached` has been renamed to `torch.npu.memory_reserved`"
    ):
        assert torch.npu.memory_cached() == torch.npu.memory_reserved()
    with pytest.warns(FutureWarning, match="resets /all/ peak memory stats"):
        torch.npu.reset_max_memory_allocated()
    with pytest.warns(FutureWarning, match="Use `current_device_index` instead."):
        assert torch.accelerator.current_device_idx() == 0


@pytest.mark.parametrize(
    ("soc", "number"),
    [("Ascend910B3", 223), ("Ascend910_9392", 251), ("Ascend310P3", 202), ("Ascend950PR_9579", 260)],
)
def test_the_number_of_the_chip_is_torch_npus(soc, number):
    code = "import mindtorch_v2 as torch; print(torch.npu.get_soc_version(), torch.npu.get_device_name())"
    assert run(code, SOFTNPU_SOC=soc) == f"{number} {soc}"


@pytest.mark.parametrize("size", [-5, "many", 1.5])
def test_raw_memory_is_asked_for_in_bytes(size):
    with pytest.raises(ValueError, match="wants a number of bytes"):
        torch.npu.caching_allocator_alloc(size)


def test_gradients_go_back_across_devices():
    code = (
        "import mindtorch_v2 as torch\n"
        "first, second = torch.nn.Linear(3, 3).to('npu:0'), torch.nn.Linear(3, 2).to('npu:1')\n"
        "whole = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 2))\n"
        "whole[0].load_state_dict(first.state_dict()), whole[1].load_state_dict(second.state_dict())\n"
        "x = torch.randn(4, 3)\n"
        "side = torch.npu.Stream(1)\n"
        "with torch.npu.stream(side):\n"
        "    loss = second(first(x.to('npu:0')).to('npu:1')).square().sum()\n"
        "loss.backward()\n"
        "whole(x).square().sum().backward()\n"
        "torch.npu.synchronize(1)\n"
        "torch.testing.assert_close(first.weight.grad.cpu(), whole[0].weight.grad)\n"
        "torch.testing.assert_close(second.weight.grad.cpu(), whole[1].weight.grad)\n"
        "print(first.weight.grad.device, second.weight.grad.device)"
    )
    assert run(code, SOFTNPU_DEVICES="2") == "npu:0 npu:1"


def test_a_device_without_an_index_is_the_current_one():
    code = (
        "import mindtorch_v2 as torch\n"
        "x = torch.ones(2, device='npu:1')\n"
        "print(x.to('npu').device, x.npu().device, x.untyped_storage().npu().device, x.to('npu:1') is x)\n"
        "with torch.npu.device(1):\n"
        "    print(x.to('npu') is x, x.npu() is x, torch.ones(2).npu().device)"
    )
    assert run(code, SOFTNPU_DEVICES="2") == "npu:0 npu:0 npu:0 True\nTrue True npu:1"


def test_peers_are_named_in_any_way():
    code = (
        "import mindtorch_v2 as torch\n"
        "peer = torch.device('npu:1')\n"
        "print(torch.npu.can_device_access_peer('npu:0', peer), torch.npu.can_device_access_peer(0, 1))\n"
        "torch.npu.enable_peer_access(peer), torch.npu.disable_peer_access('npu:1')"
    )
    assert run(code, SOFTNPU_DEVICES="2") == "True True"


def test_a_stream_sleeps_for_cycles():
    begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    begin.record()
    torch.npu._sleep(20_000_000)
    end.record()
    torch.npu.synchronize()
    assert begin.elapsed_time(end) >= 20


def test_autocast_of_the_npu_is_asked_and_set_without_naming_it():
    assert not torch.npu.is_autocast_enabled()
    with torch.autocast("npu", dtype=torch.bfloat16):
        assert torch.npu.is_autocast_enabled() and torch.npu.get_autocast_dtype() == torch.bfloat16
    before = torch.npu.get_autocast_dtype()
    try:
        torch.npu.set_autocast_enabled(True)
        torch.npu.set_autocast_dtype(torch.bfloat16)
        assert torch.is_autocast_enabled("npu") and torch.get_autocast_dtype("npu") == torch.bfloat16
    finally:
        torch.npu.set_autocast_dtype(before)
        torch.npu.set_autocast_enabled(False)


def test_a_stream_for_synchronous_launches_is_a_stream():
    with torch.npu.stream(torch.npu.SyncLaunchStream()) as _:
        assert (torch.ones(2, device="npu") + 1).tolist() == [2, 2]
