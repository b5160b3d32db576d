"""Lets PyPI's torchvision and torchaudio load beside a PyTorch without CUDA, which then gives numbers to compare with.

Their compiled parts name CUDA's libraries although what runs on a cpu calls none of them. Where PyTorch has no such
libraries, ones with the same names are made whose functions do nothing.
"""

import re
import subprocess
from importlib import metadata
from pathlib import Path

PACKAGES = ("torchvision", "torchaudio")


def compiled_parts() -> list[Path]:
    files = []
    for package in PACKAGES:
        try:
            files += [Path(f.locate()) for f in metadata.files(package) or () if f.name.endswith(".so")]
        except metadata.PackageNotFoundError:
            continue
    return files


def output_of(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def make(folder: Path) -> None:
    """Fills a folder for LD_LIBRARY_PATH; with nothing where PyTorch brings CUDA's libraries itself."""
    folder.mkdir(parents=True, exist_ok=True)
    of_pytorch = {f.name for f in metadata.files("torch") or () if f.name.endswith(".so")}
    parts = [str(part) for part in compiled_parts() if part.exists()]
    if not parts or "libtorch_cuda.so" in of_pytorch:
        return
    needed = set(
        re.findall(r"\[(lib(?:cudart\.so|c10_cuda|torch_cuda)\S*)\]", output_of("readelf", "-d", *parts))
    )
    missing = set(re.findall(r"\bU (\w*cuda\w*)", output_of("nm", "-D", *parts), re.IGNORECASE))
    source = folder / "stand_in.c"
    source.write_text("".join(f"void *{name}(void) {{ return 0; }}\n" for name in sorted(missing)))
    for library in needed:
        versions = folder / f"{library}.versions"  # CUDA's runtime marks its functions with its own name
        versions.write_text(
            f"{library} {{ global: *; }};" if library.startswith("libcudart") else "{ global: *; };"
        )
        options = [f"-Wl,-soname,{library}", f"-Wl,--version-script,{versions}", "-o", folder / library]
        subprocess.run(["cc", "-w", "-shared", "-fPIC", source, *options], check=True)
