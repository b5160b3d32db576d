"""How packages with a compiled part meet operators of the table: load_library, Library, and names of operators."""

import os
import subprocess
import sys

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import library


@pytest.mark.parametrize(
    "path",
    [
        "/site-packages/torchvision/_C.so",
        "/site-packages/torchvision/image.so",
        "/site-packages/torchaudio/lib/_torchaudio.abi3.so",
        "/site-packages/torchaudio/lib/libtorchaudio.abi3.so",
    ],
)
def test_a_library_whose_operators_the_table_has_is_loaded_by_doing_nothing(path):
    torch.ops.load_library(path)
    assert path in torch.ops.loaded_libraries


@pytest.mark.parametrize(
    "path", ["/lib/_C.so", "/torchvision/_Cuda.so", "/my_torchvision/_D.so", "/x/libmine.so"]
)
def test_any_other_library_is_refused_with_the_reason(path):
    with pytest.raises(
        OSError, match="Could not load this library.*compiled against PyTorch's C\\+\\+ library"
    ):
        torch.ops.load_library(path)


def test_what_a_package_registers_for_an_operator_of_the_table_is_taken_and_not_needed():
    def wrong(*args):
        raise AssertionError("the row's own is used")

    library.register_fake("torchvision::nms")(wrong)
    library.register_autograd("torchvision::roi_align", wrong, setup_context=wrong)
    library.register_autocast("torchvision::roi_align", "cpu", torch.float32)
    own = library.Library("torchvision", "IMPL")
    own.impl("roi_align", wrong, "AutocastCPU")
    library.Library("torchvision", "IMPL", "Meta").impl(torch.ops.torchvision.roi_align.default, wrong)
    x = torch.ones(1, 2, 4, 4, requires_grad=True)
    regions = torch.tensor([[0.0, 0, 0, 3, 3]])
    with torch.autocast("cpu"):
        torch.ops.torchvision.roi_align(x, regions, 1.0, 2, 2, 2, False).sum().backward()
    assert x.grad.sum().item() == pytest.approx(8)
    assert torch.ops.torchvision.roi_align(x.to("meta"), regions.to("meta"), 1.0, 2, 2, 2, False).is_meta


def test_a_kernel_for_an_operator_of_the_table_is_refused():
    with pytest.raises(NotImplementedError, match="torchvision::nms is an operator of this library"):
        library.Library("torchvision", "IMPL").impl("nms", lambda *args: None, "CPU")


def test_an_operator_of_the_table_is_not_defined_again():
    with pytest.raises(RuntimeError, match="multiple times"):
        library.Library("torchvision", "DEF").define("nms(Tensor a, Tensor b, float c) -> Tensor")


def test_operators_say_their_names():
    operator = torch.ops.torchvision.nms
    assert str(operator.default) == "torchvision.nms.default" and operator.name() == "torchvision::nms"
    assert operator.overloads() == ["default"] and "torchvision.nms" in repr(operator)
    assert not hasattr(torch.ops.torchvision, "no_such_operator")
    with pytest.raises(RuntimeError, match="There is no operator 'torchvision::no_such_operator'"):
        library.register_fake("torchvision::no_such_operator")(lambda: None)


def test_the_profiler_shows_the_package_as_the_namespace():
    with torch.profiler.profile() as profile:
        torch.ops.torchvision.nms(torch.zeros(1, 4), torch.zeros(1), 0.5)
    assert "torchvision::nms" in {event.key for event in profile.key_averages()}


def test_packages_are_told_that_nothing_was_compiled_with_cuda():
    assert torch.ops.torchvision._cuda_version() == -1
    assert torch.ops._torchaudio.cuda_version() is None
    assert torch.ops._torchaudio.is_align_available() is True


def test_files_are_read_and_written_as_bytes(tmp_path):
    path = str(tmp_path / "some.bytes")
    torch.ops.image.write_file(path, torch.arange(5, dtype=torch.uint8))
    assert torch.ops.image.read_file(path).tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(RuntimeError, match="No such file.*missing"):
        torch.ops.image.read_file(str(tmp_path / "missing"))
    with pytest.raises(RuntimeError, match="uint8, got torch.float32"):
        torch.ops.image.write_file(path, torch.zeros(2))


def test_what_is_no_image_is_refused():
    with pytest.raises(RuntimeError, match="Only jpeg, png, webp and gif.*starts with 00 01 02 03"):
        torch.ops.image.decode_image(torch.arange(20, dtype=torch.uint8), 0)
    with pytest.raises(RuntimeError, match="Not a PNG file"):
        torch.ops.image.decode_png(torch.arange(20, dtype=torch.uint8), 0)
    with pytest.raises(RuntimeError, match="1 or 3, got: 2"):
        torch.ops.image.encode_png(torch.zeros(2, 3, 3, dtype=torch.uint8), 6)


PACKAGE = """
import torch
from pathlib import Path
from torch import library

torch.ops.load_library(str(Path(__file__).parent / "_C.so"))
meta = library.Library("torchvision", "IMPL", "Meta")
meta.impl(torch.ops.torchvision.roi_align.default, lambda *args: None)
library.register_fake("torchvision::nms")(lambda *args: None)
keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)
keys = keys | torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCUDA)


def has_ops():
    return torch.ops.torchvision.nms(torch.zeros(1, 4), torch.zeros(1), 0.5).tolist() == [0]
"""


def test_a_package_whose_compiled_part_cannot_be_loaded_is_imported_by_others(tmp_path):
    """As transformers does: it imports torchvision because that is installed."""
    package = tmp_path / "torchvision"
    package.mkdir()
    (package / "__init__.py").write_text(PACKAGE)
    (package / "_C.so").write_bytes(b"compiled against another library")
    program = "import torchvision; print(torchvision.has_ops())"
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        [sys.executable, "-m", "mindtorch_v2", "run", "-c", program],
        env=dict(os.environ) | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout == "True\n", done.stderr
