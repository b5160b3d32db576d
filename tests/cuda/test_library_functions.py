"""The functions that are used of NVIDIA's libraries, and the settings they are asked with. No GPU is needed."""

import pytest

from mindtorch_v2._C import _cuda

LIBRARIES = {library.title: library for library in _cuda.vendor_libraries()}
SETTINGS = {"tf32_products": False, "reduced_sums": True, "tf32_convolutions": True, "benchmark": False,
            "deterministic": False}  # fmt: skip


@pytest.mark.parametrize(
    "title", ["cuBLASLt", "cuBLAS", "cuDNN", "cuFFT", "cuSOLVER", "NCCL", "CUPTI", "NVTX"]
)
def test_a_library_has_every_function_that_is_used_of_it_or_is_told_to_be_missing(title):
    library = LIBRARIES[title]
    if library.available:
        _cuda.look_up_functions(title)
    else:
        with pytest.raises(RuntimeError) as raised:
            _cuda.look_up_functions(title)
        assert str(raised.value) == library.problem + "."
        assert library.package in library.problem


def test_a_library_that_is_not_used_has_no_functions_to_look_up():
    with pytest.raises(ValueError, match="there is no table of functions of libfoo"):
        _cuda.look_up_functions("libfoo")


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_begins_as_in_pytorch_and_keeps_what_it_is_given(name):
    assert _cuda.vendor_setting(name) is SETTINGS[name]
    _cuda.set_vendor_setting(name, not SETTINGS[name])
    try:
        assert _cuda.vendor_setting(name) is not SETTINGS[name]
    finally:
        _cuda.set_vendor_setting(name, SETTINGS[name])


def test_a_setting_that_is_not_there_is_told_with_those_that_are():
    with pytest.raises(
        ValueError, match="there is no setting 'speed'; there are tf32_products, reduced_sums"
    ):
        _cuda.set_vendor_setting("speed", True)
