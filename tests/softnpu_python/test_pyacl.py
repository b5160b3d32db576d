"""The module `acl`: programs written for pyACL, each in a process of its own."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import textwrap
from pathlib import Path

SOFTNPU = Path(importlib.util.find_spec("mindtorch_v2").origin).parent / "softnpu"
START = """
    import acl, numpy as np
    def ok(*results):
        results = results[0] if isinstance(results[0], tuple) else results
        assert results[-1] == 0, (results, acl.get_recent_err_msg())
        return results[0] if len(results) == 2 else results[:-1]
    ok(acl.init()); ok(acl.rt.set_device(0))
    TO_DEVICE, TO_HOST = 1, 2
"""


def run(program: str, start: str = START, **settings: str) -> str:
    """Runs a program with the folder of `acl` on its path; its output."""
    environment = {
        **{key: value for key, value in os.environ.items() if key != "MINDTORCH_NPU"},
        "PYTHONPATH": str(SOFTNPU / "python"),
        "LD_LIBRARY_PATH": str(SOFTNPU / "lib"),
        "SOFTNPU_MEMORY": "64MiB",
        **settings,
    }
    text = textwrap.dedent(start) + textwrap.dedent(program)
    done = subprocess.run(
        [sys.executable, "-c", text], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_data_goes_to_the_device_and_back() -> None:
    run("""
        data = np.arange(1000, dtype=np.float32)
        device = ok(acl.rt.malloc(data.nbytes, 0))
        assert isinstance(device, int)
        ok(acl.rt.memcpy(device, data.nbytes, acl.util.numpy_to_ptr(data), data.nbytes, TO_DEVICE))
        host = ok(acl.rt.malloc_host(data.nbytes))
        ok(acl.rt.memcpy(host, data.nbytes, device, data.nbytes, TO_HOST))
        back = acl.util.ptr_to_numpy(host, (10, 100), 11)
        np.testing.assert_array_equal(back, data.reshape(10, 100))
        assert acl.util.ptr_to_bytes(host, data.nbytes) == data.tobytes()
        ok(acl.rt.free_host(host)); ok(acl.rt.free(device))
        ok(acl.rt.reset_device(0)); ok(acl.finalize())
    """)


def test_bytes_and_discontiguous_arrays_have_addresses() -> None:
    run("""
        raw = b"sixteen bytes..."
        assert acl.util.ptr_to_bytes(acl.util.bytes_to_ptr(raw), len(raw)) == raw
        columns = np.arange(12, dtype=np.int16).reshape(3, 4)[:, ::2]
        address, owner = acl.util.numpy_contiguous_to_ptr(columns)
        assert acl.util.ptr_to_bytes(address, owner.nbytes) == columns.tobytes()
        view = acl.util.ptr_to_numpy(address, (3, 2), 3)
        view[0, 0] = 99
        assert owner[0, 0] == 99
        for wrong in ([1, 2], b"x"):
            try:
                acl.util.numpy_to_ptr(wrong)
            except ValueError as error:
                assert "wanted a numpy.ndarray" in str(error)
            else:
                raise AssertionError(wrong)
    """)


def test_outputs_come_before_the_error_code() -> None:
    run("""
        free, total, ret = acl.rt.get_mem_info(1)
        assert ret == 0 and 0 < free <= total == 64 << 20
        device, ret = acl.rt.get_device()
        count, ret = acl.rt.get_device_count()
        assert (device, count, ret) == (0, 2, 0)
        assert acl.get_soc_name() == "Ascend910B1"
        major, minor, patch, ret = acl.get_version()
        assert major >= 1 and ret == 0
        usage, ret = acl.rt.get_device_utilization_rate(0)
        assert ret == 0 and {"cube_utilization", "vector_utilization", "aicpu_utilization"} <= set(usage)
        assert acl.data_type_size(0) == 4
        assert acl.float16_to_float(acl.float_to_float16(1.5)) == 1.5
        attributes, ret = acl.rt.pointer_get_attributes(ok(acl.rt.malloc(64, 0)))
        assert ret == 0 and attributes["location"]["id"] == 0
    """, SOFTNPU_DEVICES="2")  # fmt: skip


def test_an_error_has_its_code_and_its_message() -> None:
    run("""
        ptr, ret = acl.rt.malloc(1 << 40, 0)
        assert (ptr, ret) == (0, 207001)
        assert "aclrtMalloc" in acl.get_recent_err_msg()
        assert acl.get_recent_err_msg() is None
        assert acl.rt.free(4096) != 0
        assert acl.init() == 100002
    """)


def test_streams_and_events() -> None:
    run("""
        stream, other = ok(acl.rt.create_stream()), ok(acl.rt.create_stream())
        start, end = ok(acl.rt.create_event()), ok(acl.rt.create_event())
        data = np.ones(1 << 16, np.float32)
        device = ok(acl.rt.malloc(data.nbytes, 0))
        ok(acl.rt.record_event(start, stream))
        ok(acl.rt.memset_async(device, data.nbytes, 0, data.nbytes, stream))
        ok(acl.rt.memcpy_async(device, data.nbytes, data.ctypes.data, data.nbytes, TO_DEVICE, stream))
        ok(acl.rt.record_event(end, stream))
        ok(acl.rt.stream_wait_event(other, end))
        ok(acl.rt.synchronize_stream(other))
        status, ret = acl.rt.query_event_status(end)
        assert (status, ret) == (1, 0)
        milliseconds, ret = acl.rt.event_elapsed_time(start, end)
        assert ret == 0 and milliseconds >= 0
        for handle in (start, end):
            ok(acl.rt.destroy_event(handle))
        ok(acl.rt.destroy_stream(stream)); ok(acl.rt.destroy_stream(other))
        assert acl.rt.synchronize_stream(stream) == 107000
    """)


def test_contexts_belong_to_threads() -> None:
    run("""
        context = ok(acl.rt.get_context())
        second = ok(acl.rt.create_context(0))
        assert ok(acl.rt.get_context()) == second
        ok(acl.rt.set_context(context))
        found = []
        def ask(arguments):
            found.append(acl.rt.get_context()[1])
            found.append(acl.rt.set_context(arguments[0]))
            found.append(acl.rt.get_context())
        thread = ok(acl.util.start_thread(ask, [context]))
        ok(acl.util.stop_thread(thread))
        assert found == [107002, 0, (context, 0)], found
        ok(acl.rt.destroy_context(second))
    """)


def test_callbacks_run_in_the_thread_that_subscribed() -> None:
    run("""
        import threading
        stream, context = ok(acl.rt.create_stream()), ok(acl.rt.get_context())
        seen, stop = [], threading.Event()
        def serve(arguments):
            acl.rt.set_context(arguments[0])
            while not stop.is_set():
                acl.rt.process_report(50)
        thread = ok(acl.util.start_thread(serve, [context]))
        ok(acl.rt.subscribe_report(thread, stream))
        for number in range(3):
            ok(acl.rt.launch_callback(lambda data: seen.append((data, threading.get_ident())), [number], 1, stream))
        ok(acl.rt.synchronize_stream(stream))
        ok(acl.rt.unsubscribe_report(thread, stream))
        stop.set()
        ok(acl.util.stop_thread(thread))
        assert seen == [([0], thread), ([1], thread), ([2], thread)], seen
        assert acl.rt.launch_callback(print, [], 1, stream) == 107015
    """)


def test_what_a_thread_raised_is_raised_by_who_stops_it() -> None:
    run("""
        def fail(arguments):
            raise KeyError("lost")
        thread = ok(acl.util.start_thread(fail, []))
        try:
            acl.util.stop_thread(thread)
        except RuntimeError as error:
            assert "lost" in str(error)
        else:
            raise AssertionError
        assert acl.util.stop_thread(thread) == 3
    """)


def test_a_function_the_library_lacks_is_an_attribute_error() -> None:
    run("""
        for module, name, part in (
            (acl.rt, "no_such_function", "module 'acl.rt' has no attribute 'no_such_function'"),
            (acl.rt, "cmo_get_desc_size", "libascendcl.so has no function aclrtCmoGetDescSize"),
            (acl, "mdl", "module 'acl' has no attribute 'mdl'"),
        ):
            assert not hasattr(module, name)
            try:
                getattr(module, name)
            except AttributeError as error:
                assert part in str(error), error
        assert {"malloc", "memcpy", "launch_callback"} <= set(dir(acl.rt))
        assert all(hasattr(module, name) for module in (acl, acl.rt, acl.op, acl.util) for name in dir(module))
    """)


def test_wrong_arguments_are_named() -> None:
    run("""
        def refused(kind, call, part):
            try:
                call()
            except kind as error:
                assert part in str(error), error
            else:
                raise AssertionError(part)
        refused(TypeError, lambda: acl.rt.malloc(64), "aclrtMalloc takes 2 arguments (size, policy), 1 were given")
        refused(TypeError, lambda: acl.rt.malloc("64", 0), "'str' object cannot be interpreted as an integer")
        refused(TypeError, lambda: acl.init(3), "wanted a str, got int")
        refused(ValueError, lambda: acl.util.ptr_to_numpy(0, (1,), 77), "type is 77")
        assert ok(acl.rt.malloc(np.int64(64), np.int32(0))) != 0
        assert acl.rt.malloc.__doc__ == "dev_ptr, ret = acl.rt.malloc(size, policy)"
    """)


def test_without_a_library_the_error_says_how_to_get_one(tmp_path: Path) -> None:
    run(
        """
        import acl
        try:
            acl.init()
        except ImportError as error:
            assert "libascendcl.so was not found" in str(error) and "mindtorch softnpu run" in str(error)
        else:
            raise AssertionError
        """,
        start="",
        LD_LIBRARY_PATH=str(tmp_path),
    )


def test_the_package_has_it_over_the_npu_it_uses() -> None:
    run(
        """
        import mindtorch_v2 as torch
        from mindtorch_v2.softnpu import pyacl as acl
        before = torch.ones(1000, device="npu")
        free, total, ret = acl.rt.get_mem_info(1)
        assert ret == 0 and free < total
        host = b"\\0" * 4000
        assert acl.rt.memcpy(acl.util.bytes_to_ptr(host), 4000, before.data_ptr(), 4000, 2) == 0
        assert host[:4] == b"\\0\\0\\x80?"
        """,
        start="",
        MINDTORCH_NPU="soft",
        PYTHONPATH=str(SOFTNPU.parents[1]),
    )


DESCRIPTORS = """
    assert hasattr(acl, "create_tensor_desc")
    desc = acl.create_tensor_desc(0, [2, 3], 2)
    assert acl.get_tensor_desc_num_dims(desc) == 2
    assert acl.get_tensor_desc_dim_v2(desc, 1) == (3, 0)
    assert acl.get_tensor_desc_size(desc) == 24
    acl.destroy_tensor_desc(desc)
    attr = acl.op.create_attr()
    ok(acl.op.set_attr_list_int(attr, "axes", [0, 1]))
    ok(acl.op.set_attr_list_list_int(attr, "pads", [[0, 1], [2]]))
    ok(acl.op.set_attr_string(attr, "mode", "constant"))
    acl.op.destroy_attr(attr)
"""


def test_descriptors_and_attributes_of_single_operators() -> None:
    run(DESCRIPTORS)
