"""The profiler on GPUs, with a driver and a CUPTI that are made up (fake_driver.c): no GPU is needed."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import fake_gpu as fake_gpu_machine
import pytest

import mindtorch_v2
from mindtorch_v2._C import _cuda

HERE = Path(__file__).parent
ANY_LIBRARY = Path(mindtorch_v2.__file__).parent / "softnpu" / "lib" / "libgraph.so"
COMPILER = os.environ.get("CC", "cc")


@pytest.fixture(scope="module")
def fake_gpu(tmp_path_factory):
    """Runs a program on the made-up GPU and returns what it puts into `found`; where asked, beside a CUPTI that lacks
    every function."""
    folder = tmp_path_factory.mktemp("fake_gpu")
    library = fake_gpu_machine.build(folder)
    packages = folder / "packages" / "nvidia" / "cu13" / "lib"
    packages.mkdir(parents=True)
    (packages / "libcupti.so.13").symlink_to(library)
    without = folder / "without" / "nvidia" / "cu13" / "lib"  # found before one that the machine may have
    without.mkdir(parents=True)
    shutil.copy(ANY_LIBRARY, without / "libcupti.so.13")

    def run(program, cupti=True):
        (folder / "program.py").write_text(
            "import json, sys, warnings\nimport mindtorch_v2 as torch\n"
            "from mindtorch_v2.profiler import ProfilerActivity, profile, record_function, schedule\n"
            f"folder = {str(folder)!r}\nfound = {{}}\n{program}\n"
            "open(folder + '/found.json', 'w').write(json.dumps(found))\n"
        )
        packages = folder / ("packages" if cupti else "without")
        environment = fake_gpu_machine.environment(folder, packages)
        done = subprocess.run(
            [sys.executable, str(folder / "program.py")], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return json.loads((folder / "found.json").read_text()) | {"stderr": done.stderr}

    return run


PROGRAM = """
host = torch.ones(1000).pin_memory()
torch.ones(3, device="cuda")
with profile(record_shapes=True, with_stack=True) as prof:
    with record_function("all of it"):
        x = host.to("cuda", non_blocking=True)
        y = x + x
        other = torch.cuda.Stream()
        other.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(other):
            z = torch.ones(70000, device="cuda")
        back = y.cpu()
prof.export_chrome_trace(folder + "/trace.json")
found["averages"] = {
    e.key: [e.count, e.device_time_total, e.self_device_time_total, str(e.device_type)]
    for e in prof.key_averages()
}
found["events"] = [
    [e.name, str(e.device_type), e.device_index, e.device_resource_id, e.time_range.start, e.time_range.end,
     e.linked_correlation_id, e.activity_type]
    for e in prof.events()
]
found["table"] = prof.key_averages().table(sort_by="cuda_time_total")
found["stacks"] = [e.stack for e in prof.events() if e.name == "aten::add"]
found["trace"] = json.load(open(folder + "/trace.json"))
"""


@pytest.fixture(scope="module")
def profiled(fake_gpu):
    return fake_gpu(PROGRAM)


def device_events(profiled, category):
    return [e for e in profiled["trace"]["traceEvents"] if e.get("cat") == category and e["ph"] == "X"]


def test_kernels_have_the_device_s_times_and_the_launch_s_names(profiled):
    kernels = {e["name"]: e for e in device_events(profiled, "kernel")}
    assert set(kernels) == {"add", "fill"}
    # The made-up kernels take a microsecond for each block.
    assert kernels["add"]["args"]["grid"] == [1, 1, 1]
    assert kernels["add"]["dur"] == 1.0
    assert kernels["fill"]["dur"] == kernels["fill"]["args"]["grid"][0] > 1
    for kernel in kernels.values():
        assert kernel["args"]["block"] == [128, 1, 1]
        assert kernel["args"]["registers per thread"] == 24
        assert kernel["args"]["device"] == 0
        assert (
            kernel["args"]["warps per SM"] == kernel["args"]["grid"][0]
        )  # blocks of 4 warps on 4 processors


def test_copies_have_bytes_and_say_from_where_to_where(profiled):
    copies = {e["name"]: e for e in device_events(profiled, "gpu_memcpy")}
    assert set(copies) == {"Memcpy HtoD (Pinned -> Device)", "Memcpy DtoH (Device -> Pinned)"}
    for copy in copies.values():
        assert copy["args"]["bytes"] == 4000
        assert copy["dur"] == 4.0
        assert copy["args"]["memory bandwidth (GB/s)"] == 1


def test_work_is_linked_to_the_call_that_launched_it_and_lies_after_it(profiled):
    calls = {e["args"]["correlation"]: e for e in device_events(profiled, "cuda_runtime")}
    arrows = {
        e["id"]: e for e in profiled["trace"]["traceEvents"] if e.get("cat") == "ac2g" and e["ph"] == "f"
    }
    work = device_events(profiled, "kernel") + device_events(profiled, "gpu_memcpy")
    assert len(work) == 4
    for event in work:
        call = calls[event["args"]["correlation"]]
        assert event["ts"] >= call["ts"]
        assert event["ts"] - call["ts"] < 1e6  # of a clock that is an hour off
        assert arrows[event["args"]["correlation"]]["ts"] == event["ts"]
    assert {calls[e["args"]["correlation"]]["name"] for e in work} >= {"cudaLaunchKernel", "cudaMemcpyAsync"}


def test_streams_are_told_apart(profiled):
    streams = {e["name"]: e["args"]["stream"] for e in device_events(profiled, "kernel")}
    assert streams["add"] == 1
    assert streams["fill"] > 1


def test_averages_have_the_device_s_times(profiled):
    for name, kernel in (("aten::add", "add"), ("aten::fill_", "fill")):
        if name not in profiled["averages"]:
            continue
        count, total, own, kind = profiled["averages"][name]
        assert kind == "DeviceType.CPU"
        assert total == profiled["averages"][kernel][1]
    assert profiled["averages"]["add"] == [1, 1.0, 1.0, "DeviceType.CUDA"]
    assert profiled["averages"]["all of it"][1] > profiled["averages"]["add"][1]
    assert "Self CUDA" in profiled["table"]
    assert "CUDA time avg" in profiled["table"]


def test_operators_have_stacks_as_on_other_devices(profiled):
    assert any("program.py" in line for stack in profiled["stacks"] for line in stack)


def test_what_a_library_launches_has_its_own_names_and_others_work_is_shown_without_a_launch(fake_gpu):
    found = fake_gpu("""
import ctypes
torch.ones(3, device="cuda")
library = ctypes.CDLL(folder + "/libcuda.so.1")
library.fake_library_call.argtypes = [ctypes.c_void_p]
with profile() as prof:
    torch.ones(3, device="cuda")
    library.fake_library_call(torch.cuda.current_stream().cuda_stream)
prof.export_chrome_trace(folder + "/trace.json")
found["trace"] = json.load(open(folder + "/trace.json"))
found["kernels"] = [e.name for e in prof.events() if e.activity_type == "kernel"]
""")
    assert found["kernels"] == ["fill", "first_half(float*, int)", "second_half"]
    ends = [e for e in found["trace"]["traceEvents"] if e.get("cat") == "ac2g" and e["ph"] == "f"]
    assert len(ends) == 1


def test_profiles_follow_each_other_and_nothing_is_asked_of_cupti_outside_of_them(fake_gpu):
    found = fake_gpu("""
import ctypes
library = ctypes.CDLL(folder + "/libcuda.so.1")
on = lambda: [library.fake_enabled(kind) for kind in (1, 2, 4, 5, 10, 38, 39)]
x = torch.ones(3, device="cuda")
found["before"] = on()
found["counts"] = []
for steps in (1, 40, 3):
    with profile() as prof:
        found["during"] = on()
        for _ in range(steps):
            x + x
    found["counts"].append(sum(e.activity_type == "kernel" for e in prof.events()))
    x + x
found["after"] = on()
cycles = []
def ready(prof):
    cycles.append([sum(e.activity_type == "kernel" for e in prof.events())])
with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=ready) as prof:
    for _ in range(8):
        x + x
        prof.step()
found["cycles"] = cycles
with profile() as prof:
    x + x
    prof.toggle_collection_dynamic(False, [ProfilerActivity.CUDA])
    x + x
    prof.toggle_collection_dynamic(True, [ProfilerActivity.CUDA])
    x + x
found["toggled"] = sum(e.activity_type == "kernel" for e in prof.events())
""")
    assert found["before"] == [0] * 7
    assert found["during"] == [1] * 7
    assert found["after"] == [0] * 7
    assert found["counts"] == [1, 40, 3]  # 40 are more than a buffer holds
    assert found["cycles"] == [[2], [2]]
    assert found["toggled"] == 2


def test_a_device_that_is_first_used_inside_a_profile_is_seen(fake_gpu):
    found = fake_gpu("""
with profile() as prof:
    torch.ones(300, device="cuda")
found["kernels"] = [[e.name, e.device_time_total] for e in prof.events() if e.activity_type == "kernel"]
""")
    assert found["kernels"] == [["fill", 1.0]]


def test_where_cupti_cannot_be_used_events_measure_and_a_warning_says_what_helps(fake_gpu):
    found = fake_gpu(
        """
torch.ones(3, device="cuda")
for _ in range(2):
    with profile() as prof:
        torch.ones(70000, device="cuda")
found["kernels"] = [e.device_time_total for e in prof.events() if e.activity_type == "kernel"]
""",
        cupti=False,
    )
    assert found["stderr"].count("The profiler takes times of devices with events around each launch") == 1
    assert "lacks cuptiGetTimestamp: it is too old" in found["stderr"]
    assert "pip install --upgrade nvidia-cuda-cupti" in found["stderr"]
    assert len(found["kernels"]) == 1
    assert found["kernels"][0] > 0


def header_folders():
    """Where NVIDIA's packages or toolkits put CUPTI's headers."""
    roots = [Path(folder) / "nvidia" for folder in sys.path if folder] + [Path("/usr/local")]
    found = (match for root in roots if root.is_dir() for match in root.glob("*/include/cupti_activity.h"))
    return sorted({path.parent for path in found if (path.parent / "cuda.h").exists()})


@pytest.mark.skipif(not header_folders(), reason="no headers of CUPTI are installed, with those of CUDA")
def test_fields_lie_where_the_headers_say(tmp_path):
    assert shutil.which(COMPILER)
    for folder in header_folders():
        text = (folder / "cupti_activity.h").read_text()
        lines = []
        for structure, field, place, size in _cuda.record_fields():
            name = max(
                re.findall(rf"^}} ({structure}\d*);", text, re.MULTILINE),
                key=lambda each: int(each.removeprefix(structure) or 0),
            )
            lines.append(f'_Static_assert(offsetof({name}, {field}) == {place}, "{name}.{field}");')
            lines.append(f'_Static_assert(sizeof((({name}*)0)->{field}) == {size}, "{name}.{field}");')
        program = tmp_path / "places.c"
        program.write_text("#include <stddef.h>\n#include <cupti.h>\n" + "\n".join(lines))
        subprocess.run([COMPILER, "-fsyntax-only", f"-I{folder}", str(program)], check=True)
