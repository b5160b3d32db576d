"""What this machine's processor can do, as the operating system tells it."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

_ARM = {  # our name: the kernel's
    "neon": "asimd", "fp16_arith": "asimdhp", "dot": "asimddp", "rdm": "asimdrdm", "fhm": "asimdfhm", "bf16": "bf16",
    "i8mm": "i8mm", "sve": "sve", "sve2": "sve2", "sve_bf16": "svebf16", "sme": "sme", "sme2": "sme2",
    "atomics": "atomics", "crc32": "crc32", "aes": "aes", "pmull": "pmull", "sha1": "sha1", "sha2": "sha2",
}  # fmt: skip
_X86 = {
    **{name: name for name in (
        "sse sse2 ssse3 sse4_1 sse4_2 sse4a avx avx2 avx_vnni avx512_vbmi2 avx512_bitalg avx512_vpopcntdq avx512_vnni "
        "avx512_bf16 avx512_fp16 avx512_vp2intersect avx512_4vnniw avx512_4fmaps amx_bf16 amx_tile amx_int8 amx_fp16 "
        "fma4 f16c bmi2 popcnt aes clflush clflushopt clwb avx_vnni_int8 avx_vnni_int16 avx_ne_convert avx10_1 avx10_2"
    ).split()},
    "sse3": "pni", "avx512_f": "avx512f", "avx512_cd": "avx512cd", "avx512_dq": "avx512dq", "avx512_bw": "avx512bw",
    "avx512_vl": "avx512vl", "avx512_ifma": "avx512ifma", "avx512_vbmi": "avx512vbmi", "fma3": "fma", "bmi": "bmi1",
    "lzcnt": "abm", "sha": "sha_ni",
}  # fmt: skip
_ARCHITECTURES = {"aarch64": ("arm64", _ARM), "arm64": ("arm64", _ARM), "x86_64": ("x86_64", _X86)}


def _facts(path: Path) -> list[tuple[str, str]]:
    lines = path.read_text().splitlines() if path.exists() else []
    return [(name.strip(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]


def _cache_sizes(folder: Path) -> dict[str, int]:
    """Bytes of the first core's data caches, where the kernel tells them."""
    sizes = {}
    for index in sorted(folder.glob("index*")):
        level, kind = ((index / name).read_text().strip() for name in ("level", "type"))
        if kind != "Instruction" and (index / "size").exists():
            name = f"l{level}{'d' if level == '1' else ''}_cache_size"
            sizes[name] = int((index / "size").read_text().strip().removesuffix("K")) * 1024
    return sizes


@cache
def get_capabilities() -> Mapping[str, bool | int | str]:
    """Which instructions the processor has (by PyTorch's names), its caches, cores and architecture."""
    machine = platform.machine()
    architecture, names = _ARCHITECTURES.get(machine, (machine, {}))
    facts = _facts(Path("/proc/cpuinfo"))
    flags = {flag for name, value in facts if name in ("flags", "Features") for flag in value.split()}
    sockets = {value for name, value in facts if name == "physical id"}
    threads = os.cpu_count() or 1
    siblings = {(name, value) for name, value in facts if name in ("siblings", "cpu cores")}
    per_core = 1
    if len(siblings) == 2:
        found = {name: int(value) for name, value in siblings}
        per_core = max(1, found["siblings"] // found["cpu cores"])
    return MappingProxyType({
        "architecture": architecture,
        **{name: flag in flags for name, flag in names.items()},
        "cpu_name": next((value for name, value in facts if name == "model name"), "Unknown"),
        "num_sockets": len(sockets) or 1,
        "num_logical_cores": threads,
        "num_physical_cores": threads // per_core,
        **_cache_sizes(Path("/sys/devices/system/cpu/cpu0/cache")),
    })  # fmt: skip
