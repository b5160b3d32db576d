"""Truncated, changed and hostile files: a clear error, no code run, no absurd memory."""

import contextlib
import io
import pickle
import random
import resource
import struct
import sys
import warnings
import zipfile
from collections import OrderedDict

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._serialization.zip_writer import ZipWriter

ALLOWED = (RuntimeError, pickle.UnpicklingError, EOFError, ValueError)
_FORBIDDEN = ("exec", "compile", "import", "os.", "subprocess.", "socket.", "ctypes.", "shutil.", "open")
_events = None


def _hook(event, args):
    if _events is not None and event.startswith(_FORBIDDEN):
        _events.append((event, args))


sys.addaudithook(_hook)


@contextlib.contextmanager
def nothing_runs():
    """Fails when the block imports, compiles, runs or opens anything."""
    global _events
    seen = _events = []
    try:
        yield
    finally:
        _events = None
    assert not seen, seen


def checkpoint():
    x = torch.arange(24.0).reshape(4, 6)
    return OrderedDict(
        weight=x,
        view=x[1:3, ::2],
        half=x.half(),
        bits=(x > 3),
        unsigned=torch.arange(3, dtype=torch.uint16),
        parameter=torch.nn.Parameter(torch.ones(2)),
        meta=torch.empty(2, device="meta"),
        misc=[
            1,
            -2,
            3.5,
            "text",
            None,
            (True, b"bytes"),
            {"a": {1, 2}},
            torch.float16,
            torch.Size([2]),
            10**20,
        ],
    )


def saved(**options):
    buffer = io.BytesIO()
    torch.save(checkpoint(), buffer, **options)
    return buffer.getvalue()


def archive(records):
    """An archive with these records and right checksums."""
    buffer = io.BytesIO()
    writer = ZipWriter(buffer.write, "archive", True, 64)
    for name, data in records.items():
        writer.record(name, data)
    writer.finish()
    return buffer.getvalue()


def records_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        names = [name.removeprefix("archive/") for name in file.namelist()]
        return {
            name: file.read(f"archive/{name}")
            for name in names
            if name not in ("version", ".data/serialization_id")
        }


def mutate(data, rng):
    data = bytearray(data)
    kind = rng.randrange(5)
    if kind == 0:
        del data[rng.randrange(len(data)) :]
    elif kind == 1:
        for _ in range(rng.randint(1, 8)):
            data[rng.randrange(len(data))] = rng.randrange(256)
    elif kind == 2:
        start = rng.randrange(len(data))
        data[start : start + rng.randint(1, 64)] = b""
    elif kind == 3:
        start = rng.randrange(len(data))
        data[start:start] = rng.randbytes(rng.randint(1, 16))
    else:
        a, b = (rng.randrange(len(data)) for _ in range(2))
        data[a : a + 16] = data[b : b + 16]
    return bytes(data)


def mutated_files():
    """1,000 files, by turns: changed anywhere, in the pickle with right checksums, in the old format."""
    whole, old = saved(), saved(_use_new_zipfile_serialization=False)
    parts = records_of(whole)
    for seed in range(1000):
        rng = random.Random(seed)
        if seed % 3 == 0:
            yield seed, mutate(whole, rng)
        elif seed % 3 == 1:
            yield seed, archive({**parts, "data.pkl": mutate(parts["data.pkl"], rng)})
        else:
            yield seed, mutate(old, rng)


def test_a_thousand_damaged_files_give_clear_errors_and_run_nothing():
    torch.load(io.BytesIO(saved()))
    torch.load(io.BytesIO(saved(_use_new_zipfile_serialization=False)))
    files = list(mutated_files())
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), limits[1]))
    refused = 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for seed, data in files:
                with nothing_runs():
                    try:
                        torch.load(io.BytesIO(data))
                    except ALLOWED as error:
                        refused += 1
                        assert str(error), f"seed {seed}: {type(error).__name__} says nothing"
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    assert refused > 600


class Hostile:
    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize(
    "payload",
    [
        Hostile(exec, "raise SystemExit"),
        Hostile(eval, "1"),
        Hostile(getattr, "text", "upper"),
        Hostile(__import__, "antigravity"),
        Hostile(print, "hello"),
        Hostile(bytearray, 1 << 40),
        Hostile(torch.Tensor, 1 << 38),
        Hostile(torch.zeros, 1 << 38),
    ],
)  # fmt: skip
@pytest.mark.parametrize("zipped", [True, False])
def test_a_hostile_pickle_is_refused_and_not_run(payload, zipped):
    buffer = io.BytesIO()
    torch.save({"x": payload}, buffer, _use_new_zipfile_serialization=zipped)
    buffer.seek(0)
    with nothing_runs(), pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        torch.load(buffer)


def test_blocked_modules_stay_blocked_even_when_declared_safe():
    import posix

    data = archive({"data.pkl": b"\x80\x02cposix\nsystem\nX\x04\x00\x00\x00trueR."})
    with torch.serialization.safe_globals([posix.system]):
        with pytest.raises(pickle.UnpicklingError, match="whose module posix is blocked"):
            torch.load(io.BytesIO(data))


def tensor_pickle(numel, size, key="0"):
    from pickle import dumps

    def text(value):
        return b"X" + struct.pack("<I", len(value)) + value.encode()

    numbers = [dumps(n, 2)[2:-1] for n in (numel, size)]
    return (
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + b"ctorch\nFloatStorage\n" + text(key)
        + text("cpu") + numbers[0] + b"tQK\x00(" + numbers[1] + b"t(K\x01t\x89ccollections\nOrderedDict\n)RtR."
    )  # fmt: skip


@pytest.mark.parametrize(
    ("numel", "size", "error", "match"),
    [
        (4, 4, None, None),
        (1 << 40, 4, RuntimeError, "needs 4398046511104"),
        (-1, 4, RuntimeError, "needs -4"),
        (4, 1 << 40, pickle.UnpicklingError, "out of bounds|corrupted"),
        (4, -5, pickle.UnpicklingError, "corrupted"),
    ],
)
def test_sizes_in_the_pickle_are_checked_against_the_file(numel, size, error, match):
    data = archive({"data.pkl": tensor_pickle(numel, size), "data/0": bytes(16)})
    if error is None:
        assert torch.load(io.BytesIO(data)).tolist() == [0.0] * 4
        return
    with pytest.raises(error, match=match):
        torch.load(io.BytesIO(data))


def test_a_missing_record_is_named():
    data = archive({"data.pkl": tensor_pickle(4, 4, key="../../etc/passwd")})
    with pytest.raises(RuntimeError, match="data/../../etc/passwd: file not found"):
        torch.load(io.BytesIO(data))


def test_data_that_was_filled_in_afterwards_is_loaded_whatever_its_checksum():
    data = bytearray(saved())
    at = data.find(struct.pack("<4f", 0, 1, 2, 3))
    data[at : at + 4] = struct.pack("<f", 7)
    assert torch.load(io.BytesIO(bytes(data)))["weight"].flatten()[:3].tolist() == [7, 1, 2]


@pytest.mark.parametrize(
    ("data", "error"), [(b"", EOFError), (b"PK\x03\x04", RuntimeError), (b"hello", Exception)]
)
def test_what_is_no_checkpoint_is_refused(data, error):
    with pytest.raises(error):
        torch.load(io.BytesIO(data))


def test_a_compressed_archive_is_read_and_a_lying_one_refused():
    parts = {f"archive/{name}": data for name, data in records_of(saved()).items()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in parts.items():
            file.writestr(name, data)
    assert torch.load(io.BytesIO(buffer.getvalue()))["weight"].tolist() == checkpoint()["weight"].tolist()
    lying = bytearray(buffer.getvalue())
    entry = lying.find(b"PK\x01\x02")
    struct.pack_into("<I", lying, entry + 24, 0xFFFFFF00)
    with pytest.raises(RuntimeError, match="sizes contradict each other"):
        torch.load(io.BytesIO(bytes(lying)))
