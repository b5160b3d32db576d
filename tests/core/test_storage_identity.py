"""Storages as objects: one per block of memory, classes of their own, typed ones that warn."""

import gc
import io
import warnings
import weakref

import pytest

import mindtorch_v2 as torch


def test_a_storage_is_one_object():
    t = torch.ones(3)
    assert t.untyped_storage() is t.view(3, 1).untyped_storage()


def test_attributes_of_a_storage_live_as_long_as_its_tensors():
    t = torch.ones(3)
    t.untyped_storage().note = "kept"
    gc.collect()
    assert t.untyped_storage().note == "kept"


def test_a_class_of_storages_is_kept_by_the_tensors_over_it():
    class Counted(torch.UntypedStorage):
        gone = 0

        def __del__(self):
            Counted.gone += 1

    storage = Counted(8)
    t = torch.tensor(storage, dtype=torch.float32)
    del storage
    gc.collect()
    assert type(t.untyped_storage()) is Counted
    assert t.shape == (2,)
    del t
    gc.collect()
    assert Counted.gone >= 1


def test_a_weak_reference_finds_the_storage_while_a_tensor_uses_it():
    storage = torch.UntypedStorage(4)
    found = weakref.ref(storage)
    t = torch.tensor(storage, dtype=torch.uint8)
    del storage
    assert found() is t.untyped_storage()
    again = found()
    again._fix_weakref()
    del t
    assert again.nbytes() == 4
    del again
    assert found() is None


def test_what_a_weak_reference_found_too_late_says_so():
    storage = torch.UntypedStorage(4)
    found = weakref.ref(storage)
    t = torch.tensor(storage, dtype=torch.uint8)
    del storage
    late = found()
    del t
    with pytest.raises(RuntimeError, match="Got a null Storage"):
        late.nbytes()


def test_cycles_through_a_storage_are_collected():
    first, second = torch.UntypedStorage(2), torch.UntypedStorage(2)
    first.other, second.other = second, first
    found = weakref.ref(first)
    del first, second
    gc.collect()
    assert found() is None


def test_only_classes_derived_from_the_base_are_made():
    with pytest.raises(RuntimeError, match="Cannot directly construct StorageBase"):
        torch.StorageBase()

    class Own(torch.StorageBase):
        pass

    assert isinstance(Own(), torch._C.StorageBase)


def test_a_tensor_over_a_storage_shares_it():
    storage = torch.UntypedStorage([1, 0, 0, 0, 2, 0, 0, 0])
    over = torch.tensor(storage, dtype=torch.int32)
    assert over.tolist() == [1, 2]
    over[0] = 3
    assert storage[0] == 3
    with pytest.raises(
        RuntimeError, match="Expected a Storage of type Double or an UntypedStorage, but got Float"
    ):
        torch.tensor(torch.FloatStorage([1]), dtype=torch.float64)
    with pytest.raises(RuntimeError, match="Expected a Storage of type"):
        torch.empty(0).set_(torch.DoubleStorage(3))


def test_the_first_use_of_a_typed_storage_warns_and_only_the_outermost():
    torch.storage._reset_warn_typed_storage_removal()
    with pytest.warns(UserWarning, match="TypedStorage is deprecated"):
        torch.FloatStorage(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.FloatStorage(2).tolist()
    torch.storage._set_always_warn_typed_storage_removal(True)
    try:
        for use in (
            lambda: torch.FloatStorage(),
            lambda: torch.ones(2).storage(),
            lambda: torch.FloatStorage.dtype,
        ):
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                use()
            assert len(seen) == 1
            assert seen[0].filename == __file__
    finally:
        torch.storage._set_always_warn_typed_storage_removal(False)


def test_the_library_itself_uses_typed_storages_quietly():
    storage = torch.ones(4)._typed_storage()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert storage._size() == 4
        storage._setitem(slice(0, 2), 3)
        assert storage._getitem(0) == 3
        file = io.BytesIO()
        torch.save(torch.ones(3), file)
        file.seek(0)
        torch.load(file)


def test_a_meta_storage_has_a_size_and_no_bytes():
    storage = torch.TypedStorage([1, 2, 3], dtype=torch.float32, device="meta")
    assert storage.nbytes() == 12
    with pytest.raises(NotImplementedError, match="Cannot copy out"):
        storage.cpu()
    for share in (storage._share_fd_cpu_, storage._share_filename_cpu_, storage.share_memory_):
        with pytest.raises(RuntimeError, match="only available on CPU"):
            share()
    storage.resize_(10)
    assert storage.size() == 10


def test_a_storage_is_written_to_a_file_and_read_back():
    storage = torch.FloatStorage([1, 2, 3])
    file = io.BytesIO()
    storage._write_file(file, False, True, 4)
    file.seek(0)
    assert torch.UntypedStorage._new_with_file(file, 4).tolist() == storage.untyped().tolist()


def test_memory_that_numpy_sees_is_not_resized():
    t = torch.ones(3)
    t.numpy()
    with pytest.raises(RuntimeError, match="not resizable"):
        t.resize_(100)


def test_the_default_storage_follows_the_default_dtype():
    assert torch.Storage is torch.FloatStorage
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.Storage is torch.DoubleStorage
    finally:
        torch.set_default_dtype(torch.float32)
