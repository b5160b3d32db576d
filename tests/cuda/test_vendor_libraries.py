"""NVIDIA's libraries: where they are found, and what is said where they are missing. No GPU is needed."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mindtorch_v2
from mindtorch_v2._C import _cuda

ANY_LIBRARY = Path(mindtorch_v2.__file__).parent / "softnpu" / "lib" / "libgraph.so"


def put(folder: Path, name: str) -> Path:
    """A library that can be opened, under a name of ours."""
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(ANY_LIBRARY, folder / name))


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path / "site-packages"))
    return tmp_path / "site-packages"


@pytest.mark.parametrize("layout", ["nvidia/cu13/lib", "nvidia/made_up/lib"])
def test_a_library_is_found_in_a_package_of_a_folder_of_sys_path(site, layout):
    put(site / layout, "libmade_up_a.so.13")
    library = _cuda.vendor_library("Made up", ["libmade_up_a.so.13"], "nvidia-made-up")
    assert library.available
    assert library.path == str(site / layout / "libmade_up_a.so.13")
    assert library.problem == ""
    assert library.version == ""  # nobody said how to ask for it


def test_names_are_tried_in_their_order_wherever_they_lie(site):
    put(site / "nvidia/cu12/lib", "libmade_up_b.so.12")
    put(site / "nvidia/made_up/lib", "libmade_up_b.so.13")
    library = _cuda.vendor_library("Made up", ["libmade_up_b.so.13", "libmade_up_b.so.12"], "nvidia-made-up")
    assert library.path.endswith("libmade_up_b.so.13")
    library = _cuda.vendor_library("Made up", ["libmade_up_b.so.14", "libmade_up_b.so.12"], "nvidia-made-up")
    assert library.path.endswith("libmade_up_b.so.12")


def test_the_newest_of_the_shared_folders_comes_first(site):
    for layout in ("nvidia/cu12/lib", "nvidia/cu13/lib", "nvidia/aaa/lib"):
        put(site / layout, "libmade_up_c.so.2")
    library = _cuda.vendor_library("Made up", ["libmade_up_c.so.2"], "nvidia-made-up")
    assert library.path == str(site / "nvidia/cu13/lib/libmade_up_c.so.2")


def test_an_earlier_folder_of_sys_path_wins(tmp_path, monkeypatch):
    for name in ("later", "earlier"):
        put(tmp_path / name / "nvidia/cu13/lib", "libmade_up_d.so.1")
        monkeypatch.syspath_prepend(str(tmp_path / name))
    library = _cuda.vendor_library("Made up", ["libmade_up_d.so.1"], "nvidia-made-up")
    assert library.path.startswith(str(tmp_path / "earlier"))


def test_the_toolkit_is_looked_into_where_no_package_has_the_library(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    put(tmp_path / "toolkit" / "lib64", "libmade_up_e.so.1")
    library = _cuda.vendor_library("Made up", ["libmade_up_e.so.1"], "nvidia-made-up")
    assert library.path == str(tmp_path / "toolkit/lib64/libmade_up_e.so.1")


def test_a_library_that_is_missing_is_told_with_its_names_and_the_package_to_install():
    library = _cuda.vendor_library("Made up", ["libmade_up_f.so.2", "libmade_up_f.so.1"], "nvidia-made-up")
    assert not library.available
    assert library.path == ""
    with pytest.raises(RuntimeError) as raised:
        library.symbol("anything")
    message = str(raised.value)
    assert message.startswith("Made up was not found: libmade_up_f.so.2 or libmade_up_f.so.1 is ")
    assert message.endswith("Install it: pip install nvidia-made-up.")


def test_a_library_of_the_driver_is_not_looked_for_among_packages(site):
    put(site / "nvidia/cu13/lib", "libmade_up_g.so.1")
    library = _cuda.vendor_library("Made up", ["libmade_up_g.so.1"])
    with pytest.raises(RuntimeError, match="It comes with NVIDIA's driver: check that nvidia-smi runs here"):
        library.symbol("anything")


def test_a_file_that_cannot_be_opened_is_told_with_what_the_loader_says(site):
    folder = site / "nvidia/cu13/lib"
    folder.mkdir(parents=True)
    (folder / "libmade_up_h.so.1").write_bytes(b"no library at all")
    library = _cuda.vendor_library("Made up", ["libmade_up_h.so.1"], "nvidia-made-up")
    assert not library.available
    assert library.problem.startswith("Made up is there but cannot be opened: ")
    assert str(folder / "libmade_up_h.so.1") in library.problem


def test_a_function_that_a_library_lacks_is_told_with_the_file_and_what_to_install(site):
    path = put(site / "nvidia/cu13/lib", "libmade_up_i.so.1")
    library = _cuda.vendor_library("Made up", ["libmade_up_i.so.1"], "nvidia-made-up")
    with pytest.raises(RuntimeError) as raised:
        library.symbol("made_up_function")
    assert str(raised.value) == (
        f"Made up in {path} lacks made_up_function: it is too old. "
        "Install a newer one: pip install --upgrade nvidia-made-up."
    )


def test_a_library_that_the_process_has_open_already_is_taken(site, tmp_path):
    import ctypes

    elsewhere = put(tmp_path / "elsewhere", "libgraph.so")
    opened = ctypes.CDLL(str(elsewhere))
    put(site / "nvidia/cu13/lib", "libgraph.so")
    library = _cuda.vendor_library("Made up", ["libgraph.so"], "nvidia-made-up")
    assert library.path != str(site / "nvidia/cu13/lib/libgraph.so")
    del opened


def test_every_library_that_is_used_is_listed_and_nothing_is_opened_by_importing():
    listed = {library.title: library.package for library in _cuda.vendor_libraries()}
    assert listed == {
        "the CUDA driver": "", "NVRTC": "nvidia-cuda-nvrtc", "cuBLASLt": "nvidia-cublas", "cuBLAS": "nvidia-cublas",
        "cuDNN": "nvidia-cudnn-cu13",
        "cuFFT": "nvidia-cufft", "cuSOLVER": "nvidia-cusolver",
        "NCCL": "nvidia-nccl-cu13", "CUPTI": "nvidia-cuda-cupti",
        "NVTX": "nvidia-nvtx",
    }  # fmt: skip
    program = "import mindtorch_v2; print('libcuda' in open('/proc/self/maps').read())"
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "False"
