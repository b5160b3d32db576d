"""Launches that another thread hands to the driver, on a made-up GPU that takes its time for them."""

import pytest
from made_up_gpu import made_up_gpu, ran

_PROGRAM = """
import ctypes
import os
import mindtorch_v2 as torch

driver = ctypes.CDLL("libcuda.so.1")
driver.fake_calls.restype = ctypes.c_char_p
x, other = torch.ones(4, device="cuda"), torch.cuda.Stream()
big = torch.empty(1 << 25, device="cuda")
x + 1  # compiled and loaded

def calls():
    return driver.fake_calls().decode()

def enqueue(number, us=1000):
    '''Launches that take so long each. Where the thread fell asleep before the first, all over again.'''
    while True:
        driver.fake_launches(0, 0)
        while "q" not in calls():
            driver.fake_forget_calls()
            for _ in range(20):
                x + 1
        x.data_ptr()  # all are done
        driver.fake_forget_calls()
        driver.fake_launches(us, 0)
        for _ in range(number):
            x + 1
        if "k" not in calls():
            return
"""


@pytest.fixture(scope="module")
def gpu(tmp_path_factory):
    return made_up_gpu(tmp_path_factory.mktemp("gpu"), {})


def run(gpu, program, queue="on", **more):
    done = ran(gpu | {"MINDTORCH_CUDA_QUEUE": queue} | more, "-c", _PROGRAM + program)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_caller_does_not_wait_for_launches(gpu):
    program = "enqueue(20, 20_000); print(len(calls())); torch.cuda.synchronize(); print(calls())"
    done, after_waiting = run(gpu, program).split()
    assert int(done) < 20
    assert after_waiting == "q" * 20 + "s"


# What comes after launches: the call, and its letter.
AFTER = {
    "torch.cuda.synchronize()": "s",
    "torch.cuda.current_stream().synchronize()": "s",
    "torch.cuda.current_stream().query()": "",
    "torch.cuda.Event().record()": "r",
    "other.wait_stream(torch.cuda.current_stream())": "r",
    "x.cpu()": "c",
    "x[0].item()": "c",
    "x.copy_(torch.ones(4))": "c",
    "del big; torch.cuda.empty_cache()": "f",
    "x.data_ptr()": "",
    "x.untyped_storage().data_ptr()": "",
    "torch.cuda.current_stream().cuda_stream": "",
    "torch.cuda.ExternalStream(other.handle)": "",
    "torch.utils.dlpack.to_dlpack(x)": "",
}


@pytest.mark.parametrize("call", AFTER)
def test_what_comes_after_launches_waits_for_them(gpu, call):
    printed = run(gpu, f"enqueue(20); {call}; print(calls())").strip()
    launches = printed[: printed.index(AFTER[call])] if AFTER[call] else printed
    assert launches.count("q") >= 20, printed


def test_a_stream_that_others_have_is_launched_on_at_once(gpu):
    printed = run(gpu, "enqueue(3); torch.cuda.current_stream().cuda_stream; x + 1; x + 1; print(calls())")
    assert printed.strip().endswith("qqqkk")


def test_order_is_kept_over_many_turns_of_the_ring(gpu):
    program = """
places, order = [torch.empty(1 << 10, device="cuda") for _ in range(64)], []
enqueue(1, 0)
views = [p[::2] for p in places]  # a call of some hundred bytes each
for turn in range(400):
    for view in views:
        view.add_(1)
torch.cuda.synchronize()
print(calls().count("q") + calls().count("k") >= 400 * 64, calls()[-1])
"""
    assert run(gpu, program) == "True s\n"


def test_what_the_driver_refuses_is_raised_once_by_what_comes_next(gpu):
    program = """
x * 2
enqueue(1)
x.data_ptr()
driver.fake_launches(1000, 1)
try:
    x * 2
    torch.cuda.synchronize()
    print("nothing was raised")
except RuntimeError as error:
    print(error)
torch.cuda.synchronize()
"""
    printed = run(gpu, program)
    assert "mul" in printed and "700" in printed, printed


def test_a_profiler_sees_launches_where_they_are_made(gpu):
    program = """
enqueue(5)
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
    driver.fake_forget_calls()
    x + 1
    print(calls())
"""
    assert run(gpu, program).strip() == "k"


def test_a_child_ends_without_the_thread(gpu):
    program = """
enqueue(5)
child = os.fork()
if child == 0:
    exit()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
torch.cuda.synchronize()
"""
    assert run(gpu, program) == "0\n"


def test_launches_that_nobody_waits_for_are_done_before_the_process_ends(gpu, tmp_path):
    told = tmp_path / "told"
    run(gpu, "enqueue(20, 5000)", FAKE_CALLS_AT_THE_END=str(told))
    assert told.read_text().rstrip("f") == "q" * 20


@pytest.mark.parametrize("settings", [{"queue": "off"}, {"CUDA_LAUNCH_BLOCKING": "1"}])
def test_settings_that_launch_at_once(gpu, settings):
    printed = run(gpu, "driver.fake_forget_calls(); [x + 1 for _ in range(3)]; print(calls())", **settings)
    assert printed.replace("s", "").strip() == "kkk"


def test_another_word_in_the_setting_is_refused(gpu):
    done = ran(
        gpu | {"MINDTORCH_CUDA_QUEUE": "maybe"},
        "-c",
        "import mindtorch_v2 as t; t.ones(2, device='cuda') + 1",
    )
    assert "MINDTORCH_CUDA_QUEUE is on or off, got 'maybe'" in done.stderr
