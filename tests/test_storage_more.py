"""Storages beyond the contract: bytes, slices, files, shared memory, copies, types."""

import copy
import multiprocessing
import pickle

import pytest

import mindtorch_v2 as torch

DEVICES = ["cpu", "npu"]


def untyped(*values, device="cpu"):
    return torch.UntypedStorage(list(values), device=device)


# --- untyped


@pytest.mark.parametrize("device", DEVICES)
def test_bytes_are_read_and_written(device):
    storage = untyped(1, 2, 3, device=device)
    assert storage.device.type == device and len(storage) == storage.nbytes() == storage.size() == 3
    assert storage.element_size() == 1
    assert storage.tolist() == list(storage) == [1, 2, 3] and storage[-1] == 3
    storage[0] = 300
    storage[1:3] = 7
    assert storage.tolist() == [44, 7, 7]
    assert storage.fill_(-1).tolist() == [255, 255, 255]


def test_a_tensor_and_its_storage_are_one_memory():
    x = torch.zeros(2, dtype=torch.int16)
    x.untyped_storage()[0] = 5
    assert x.tolist() == [5, 0]
    assert x.untyped_storage() == x.untyped_storage() != torch.zeros(2).untyped_storage()
    assert x.untyped_storage().data_ptr() == x.data_ptr()
    assert x[1:].untyped_storage().data_ptr() == x.data_ptr()


def test_a_slice_shares_memory_and_outlives_its_storage():
    storage = untyped(1, 2, 3, 4)
    window = storage[1:3]
    window[0] = 9
    assert storage.tolist() == [1, 9, 3, 4]
    del storage
    assert window.tolist() == [9, 3]
    with pytest.raises(RuntimeError, match="only a step of 1 is supported"):
        _ = window[::2]


@pytest.mark.parametrize(
    ("action", "error", "message"),
    [
        (lambda s: s[9], IndexError, "index 9 out of range for storage of size 3"),
        (lambda s: s["a"], TypeError, "can't index a torch.UntypedStorage with str"),
        (
            lambda s: s.__setitem__(0, 1.5),
            RuntimeError,
            "can only set storage content with a int types, but got float",
        ),
        (lambda s: s.fill_(2.5), RuntimeError, "fill_ expects int, but got float"),
        (lambda s: s.copy_(untyped(1)), RuntimeError, "self was 3 bytes but src was 1 bytes"),
        (lambda s: s.resize_(-1), RuntimeError, "negative"),
        (lambda s: torch.UntypedStorage(1.5), RuntimeError, "Expected a sequence type, but got float"),
        (lambda s: torch.UntypedStorage(1, 2), TypeError, "invalid combination of arguments"),
    ],
)
def test_bad_use_is_refused(action, error, message):
    with pytest.raises(error, match=message):
        action(untyped(1, 2, 3))


@pytest.mark.parametrize("device", DEVICES)
def test_resizing_keeps_what_fits(device):
    storage = untyped(1, 2, 3, 4, device=device)
    assert storage.resize_(2).tolist() == [1, 2]
    storage.resize_(6)
    assert storage.nbytes() == 6 and storage.tolist()[:2] == [1, 2]


def test_copies_are_independent():
    storage = untyped(1, 2)
    for twin in (
        storage.clone(),
        copy.copy(storage),
        copy.deepcopy(storage),
        pickle.loads(pickle.dumps(storage)),
    ):
        assert twin.tolist() == [1, 2] and twin != storage
        twin[0] = 8
    assert storage.tolist() == [1, 2]


def test_a_storage_moves_between_devices():
    storage = untyped(1, 2, 3)
    there = storage.npu()
    assert there.is_npu and there.cpu().tolist() == [1, 2, 3]
    assert storage.cpu() is storage and there.npu() is there
    assert pickle.loads(pickle.dumps(there)).device.type == "npu"


def test_meta_has_a_size_and_no_bytes():
    storage = torch.UntypedStorage(4, device="meta")
    assert storage.nbytes() == 4 and storage.resize_(6).nbytes() == 6
    assert repr(storage) == "...\n[torch.storage.UntypedStorage(device=meta) of size 6]"
    for use in (storage.data_ptr, storage.tolist, lambda: storage[0]):
        with pytest.raises(RuntimeError):
            use()


def test_buffers_are_copied_in_their_byte_order():
    made = torch.UntypedStorage.from_buffer
    data = bytearray(b"abcd")
    storage = made(data, "native", dtype=torch.int16)
    data[0] = 0
    assert storage.tolist() == [97, 98, 99, 100]
    assert made(b"abcd", "big", dtype=torch.int16).tolist() == [98, 97, 100, 99]
    assert made(b"abcd", "native", 1, 2, dtype=torch.int16).tolist() == [99, 100]
    with pytest.raises(ValueError, match=r"buffer size \(3\) must be a multiple of element size \(2\)"):
        made(b"abc", "native", dtype=torch.int16)
    with pytest.raises(ValueError, match="invalid byte_order 'foo'"):
        made(b"ab", "foo", dtype=torch.int16)
    with pytest.raises(ValueError, match="specified a size of 9"):
        made(b"abcd", "native", 9, dtype=torch.int16)


def test_byteswap_turns_each_element():
    storage = untyped(1, 2, 3, 4)
    storage.byteswap(torch.int32)
    assert storage.tolist() == [4, 3, 2, 1]
    storage.byteswap(torch.int16)
    assert storage.tolist() == [3, 4, 1, 2]


# --- files and processes


def test_a_shared_file_receives_writes_and_a_private_one_does_not(tmp_path):
    path = tmp_path / "bytes.bin"
    shared = torch.UntypedStorage.from_file(str(path), shared=True, nbytes=4)
    shared[0] = 5
    assert path.read_bytes() == b"\x05\0\0\0" and shared.is_shared() and shared.filename == str(path)
    private = torch.UntypedStorage.from_file(str(path), shared=False, nbytes=4)
    private[0] = 6
    assert path.read_bytes() == b"\x05\0\0\0" and private.tolist()[0] == 6
    with pytest.raises(RuntimeError):
        torch.UntypedStorage.from_file(str(path), shared=False, nbytes=400)
    with pytest.raises(RuntimeError, match="missing"):
        torch.UntypedStorage.from_file(str(tmp_path / "missing"), shared=False, nbytes=4)


def test_sharing_keeps_the_values_and_the_tensors():
    x = torch.tensor([1.0, 2.0])
    storage = x.untyped_storage()
    assert not storage.is_shared() and storage.filename is None
    storage.share_memory_()
    assert storage.is_shared() and x.tolist() == [1.0, 2.0] and x.is_shared()
    x[0] = 7.0
    assert x.untyped_storage().tolist()[:4] == torch.tensor([7.0]).untyped_storage().tolist()


def _write_nine(storage, done):
    storage[0] = 9
    done.put(storage.is_shared())


def test_another_process_writes_into_shared_memory():
    storage = untyped(1, 2, 3).share_memory_()
    spawn = multiprocessing.get_context("spawn")
    done = spawn.Queue()
    process = spawn.Process(target=_write_nine, args=(storage, done))
    process.start()
    assert done.get(timeout=60) is True
    process.join(60)
    assert process.exitcode == 0 and storage.tolist() == [9, 2, 3]


# --- typed


def test_typed_storage_counts_elements():
    storage = torch.TypedStorage([1, 2, 3], dtype=torch.float32)
    assert (len(storage), storage.nbytes(), storage.element_size(), storage.dtype) == (
        3,
        12,
        4,
        torch.float32,
    )
    assert (
        storage.tolist() == [1.0, 2.0, 3.0] and storage[-1] == 3.0 and storage.type() == "torch.FloatStorage"
    )
    storage[0] = 9.5
    storage[1:3] = 4
    assert list(storage) == [9.5, 4.0, 4.0] and storage.fill_(2).tolist() == [2.0, 2.0, 2.0]
    assert storage.resize_(5).size() == 5
    with pytest.raises(RuntimeError, match="slices are only supported in UntypedStorage.__getitem__"):
        _ = storage[0:2]
    with pytest.raises(IndexError, match="index 5 out of range for storage of size 5"):
        _ = storage[5]


def test_typed_storage_converts_values():
    storage = torch.TypedStorage([1.5, 2.5], dtype=torch.float32)
    assert storage.double().dtype == torch.float64 and storage.int().tolist() == [1, 2]
    assert storage.float() is storage and storage.bfloat16().tolist() == [1.5, 2.5]
    assert storage.type("torch.LongStorage").dtype == torch.int64
    assert untyped(1, 2).float().tolist() == [1.0, 2.0]


def test_typed_storage_views_a_tensor():
    x = torch.tensor([1.0, 2.0])
    storage = x.storage()
    storage[0] = 5.0
    assert x.tolist() == [5.0, 2.0] and storage.untyped() == x.untyped_storage()
    twin = pickle.loads(pickle.dumps(storage))
    assert twin.tolist() == [5.0, 2.0] and twin.dtype == torch.float32


def test_the_old_class_names_stand_for_dtypes():
    from mindtorch_v2._storage_typed import DoubleStorage, FloatStorage

    storage = FloatStorage([1, 2])
    assert isinstance(storage, FloatStorage) and not isinstance(storage, DoubleStorage)
    assert isinstance(storage, torch.TypedStorage) and storage.pickle_storage_type() == "FloatStorage"
    with pytest.raises(RuntimeError, match="Keyword argument 'dtype' cannot be specified"):
        FloatStorage(dtype=torch.int8)


def test_typed_storage_refuses_what_it_cannot_wrap():
    with pytest.raises(RuntimeError, match="Argument 'dtype' must be specified"):
        torch.TypedStorage(wrap_storage=untyped(1))
    with pytest.raises(TypeError, match="Argument 'wrap_storage' must be UntypedStorage"):
        torch.TypedStorage(wrap_storage=3, dtype=torch.int8)


def test_text_lists_the_elements():
    assert repr(untyped(1, 2)) == " 1\n 2\n[torch.storage.UntypedStorage(device=cpu) of size 2]"
    assert repr(torch.TypedStorage([1.5], dtype=torch.float32)) == (
        " 1.5\n[torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 1]"
    )


def test_pinned_storage_is_a_copy_that_says_so():
    storage = untyped(1, 2, 3)
    pinned = storage.pin_memory()
    assert pinned.is_pinned() and not storage.is_pinned() and pinned.tolist() == [1, 2, 3]
    assert pinned.pin_memory() is pinned


def test_a_view_of_a_storages_memory_keeps_it():
    view = torch.arange(1000)._storage_handle().buffer()
    others = [torch.full((1000,), -1) for _ in range(20)]  # they would take memory that was given back
    assert bytes(view) == torch.arange(1000).numpy().tobytes() and len(others) == 20
    handle = torch.arange(3)._storage_handle()
    handle.buffer()[0] = 7
    assert bytes(handle.buffer())[0] == 7


def test_memory_of_a_device_is_no_buffer():
    with pytest.raises(BufferError, match="only CPU storage can be seen as host memory, got npu:0"):
        torch.ones(3, device="npu")._storage_handle().buffer()


def test_states_of_generators_are_set_from_copies_of_them():
    generator = torch.Generator().manual_seed(1)
    state = generator.get_state()
    first = torch.rand(3, generator=generator).tolist()
    padded = torch.cat([torch.zeros(1, dtype=torch.uint8), state])
    for _ in range(50):
        generator.set_state(padded[1:])
        assert torch.rand(3, generator=generator).tolist() == first
