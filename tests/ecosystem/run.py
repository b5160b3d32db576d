"""Programs over packages built on torch: the same numbers as PyTorch's, on every device (``make ecosystem``).

    python tests/ecosystem/run.py --only peft trl --device npu

`programs/<package>.py` defines ``run(device)``, which gives named numbers (README.md says how to write one). Each runs
with PyTorch on the cpu, whose numbers are kept by program and versions in build/ecosystem, then with this library on
each device, in processes of their own. What cannot run yet is in waiting.toml with its reason; if one of those passes,
the run fails, so that the list stays true.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import cuda_stand_ins
import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
KEPT = ROOT / "build" / "ecosystem"
DEVICES = ("cpu", "npu")
TOLERANCE = 1e-3
BEGIN, END = "<!-- packages: written by make ecosystem -->", "<!-- end of packages -->"


@dataclass
class Result:
    program: str
    device: str
    seconds: float
    difference: float = float("nan")
    problem: str = ""  # empty: the numbers are PyTorch's


def name_of(program: str) -> str:
    return program.replace("_", "-")


def last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    # The exception itself, where the interpreter wrote more after it.
    errors = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Exit|Interrupt)\b", line)]
    return (errors or lines or ["nothing was written"])[-1]


def numbers_of(program: Path, device: str, ours: bool, options: argparse.Namespace) -> dict[str, np.ndarray]:
    """Runs a program and gives its numbers; RuntimeError with the reason where there are none."""
    log = KEPT / "logs" / f"{program.stem}-{device if ours else 'pytorch'}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ) | {
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "MPLBACKEND": "agg",
        "MINDTORCH_NPU": "soft" if device == "npu" else "off",
    }
    environment.pop("PYTHONPATH", None)
    command = [sys.executable]
    if ours:
        environment["PYTHONPATH"] = str(ROOT / "src")
        command += ["-m", "mindtorch_v2", "run"]
    else:
        environment["LD_LIBRARY_PATH"] = str(KEPT / "stand_ins")
    with tempfile.TemporaryDirectory(prefix="ecosystem-") as folder, log.open("w") as out:
        target = Path(folder) / "numbers.npz"
        command += [str(HERE / "child.py"), str(program), device, str(target)]
        try:
            ended = subprocess.run(
                command, cwd=folder, env=environment | {"HOME": folder, "TMPDIR": folder}, timeout=options.timeout,
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"not done after {options.timeout} s") from None
        if ended.returncode:
            raise RuntimeError(f"{last_line(log)} (exit status {ended.returncode})")
        with np.load(target) as found:
            numbers = {name: found[name] for name in found.files}
    library, used = str(numbers.pop("/library")), bool(numbers.pop("/device_used"))
    if library != ("mindtorch_v2" if ours else "torch"):
        raise RuntimeError(f"it ran on {library}")
    if not used:
        raise RuntimeError(f"it never used the device {device}")
    return numbers


def reference(program: Path, versions: str, options: argparse.Namespace) -> dict[str, np.ndarray]:
    key = hashlib.sha256(
        program.read_bytes() + (HERE / "child.py").read_bytes() + versions.encode()
    ).hexdigest()[:16]
    kept = KEPT / "reference" / f"{program.stem}-{key}.npz"
    if not kept.exists():
        numbers = numbers_of(program, "cpu", ours=False, options=options)
        if not numbers:
            raise RuntimeError("run() gave no numbers to compare")
        for name, values in numbers.items():
            if not np.isfinite(values).all() or not values.size:
                raise RuntimeError(f"{name} is empty or not finite, so it proves nothing")
        kept.parent.mkdir(parents=True, exist_ok=True)
        np.savez(kept, **numbers)
    with np.load(kept) as found:
        return {name: found[name] for name in found.files}


def compare(expected: dict[str, np.ndarray], got: dict[str, np.ndarray]) -> float:
    """The largest difference, absolute below one and relative above it."""
    if expected.keys() != got.keys():
        raise RuntimeError(f"gave {sorted(got)}, PyTorch {sorted(expected)}")
    worst, where = 0.0, ""
    for name, values in expected.items():
        if values.shape != got[name].shape:
            raise RuntimeError(f"{name} has shape {got[name].shape}, with PyTorch {values.shape}")
        difference = float((np.abs(got[name] - values) / np.maximum(1, np.abs(values))).max())
        if not difference <= worst:  # NaN too
            worst, where = difference, name
    if not worst <= TOLERANCE:
        raise RuntimeError(f"{where} differs by {worst:.2g}, more than {TOLERANCE:g}")
    return worst


def measure(program: Path, device: str, versions: str, options: argparse.Namespace) -> Result:
    try:
        expected = reference(program, versions, options)
    except RuntimeError as error:
        return Result(program.stem, device, 0, problem=f"with PyTorch itself: {error}")
    start = time.monotonic()
    result = Result(program.stem, device, 0)
    try:
        result.difference = compare(expected, numbers_of(program, device, ours=True, options=options))
    except RuntimeError as error:
        result.problem = str(error)
    result.seconds = time.monotonic() - start
    return result


def version_of(program: str) -> str:
    """Of the package that a program is named after: as it is installed, or as it is imported."""
    installed = metadata.packages_distributions().get(program, [name_of(program)])
    try:
        return metadata.version(installed[0])
    except metadata.PackageNotFoundError:
        raise SystemExit(f"programs/{program}.py is not named after an installed package") from None


def summary_of(program: Path) -> str:
    docstring = re.match(r'"""(.+)', program.read_text())
    if not docstring:
        raise SystemExit(f"{program}: its first line must say in a docstring what it does")
    return docstring[1].removesuffix('"""').rstrip(".")


def table(programs: list[Path], results: list[Result], waiting: dict[str, str]) -> str:
    rows = ["| package | version | program | cpu | npu |", "|---|---|---|---|---|"]
    passed = {(r.program, r.device) for r in results if not r.problem}
    for program in programs:
        cells = [
            "yes" if (program.stem, device) in passed else waiting.get(f"{program.stem}.{device}", "fails")
            for device in DEVICES
        ]
        rows.append(
            f"| {name_of(program.stem)} | {version_of(program.stem)} | {summary_of(program)} | {' | '.join(cells)} |"
        )
    return "\n".join(rows)


def waiting_programs(programs: list[Path]) -> dict[str, str]:
    """`program.device` to the reason why it cannot pass yet."""
    known = {program.stem for program in programs}
    waiting = {}
    for program, reason in tomllib.loads((HERE / "waiting.toml").read_text()).items():
        if program not in known:
            raise SystemExit(f"waiting.toml names {program!r}, but there is no such program")
        reasons = reason if isinstance(reason, dict) else dict.fromkeys(DEVICES, reason)
        waiting |= {f"{program}.{device}": why for device, why in reasons.items()}
    return waiting


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Compare programs over packages built on torch with PyTorch."
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these programs, by name")
    parser.add_argument("--device", choices=DEVICES, help="this device only")
    parser.add_argument("--timeout", type=float, default=600, metavar="SECONDS", help="for each run")
    parser.add_argument(
        "--page", type=Path, metavar="FILE", help="fail if the table of packages there is another"
    )
    parser.add_argument("--write", action="store_true", help="put the table into the file of --page instead")
    options = parser.parse_args()

    programs = sorted((HERE / "programs").glob("*.py"))
    waiting = waiting_programs(programs)
    chosen = programs
    if options.only:
        wanted = {name.replace("-", "_") for name in options.only}
        if unknown := wanted - {program.stem for program in programs}:
            parser.error(
                f"no program {', '.join(sorted(unknown))}; there are {', '.join(p.stem for p in programs)}"
            )
        chosen = [program for program in programs if program.stem in wanted]
    versions = "\n".join(sorted(f"{d.name}=={d.version}" for d in metadata.distributions()))

    cuda_stand_ins.make(KEPT / "stand_ins")
    runs = [(program, device) for program in chosen for device in DEVICES if options.device in (None, device)]
    results, wrong = [], []
    for count, (program, device) in enumerate(runs, 1):
        result = measure(program, device, versions, options)
        results.append(result)
        reason = waiting.get(f"{program.stem}.{device}")
        verdict = "FAIL" if result.problem else "pass"
        detail = result.problem or f"largest difference {result.difference:.1e}"
        if reason and result.problem:
            verdict, detail = "waits", f"{reason}: {detail}"
        elif reason:
            detail += "; it is in waiting.toml: remove it there"
        if bool(reason) != bool(result.problem):
            wrong.append(f"{program.stem} on {device}")
        print(
            f"[{count}/{len(runs)}] {verdict:5} {program.stem} {device} {result.seconds:.0f} s  {detail}",
            flush=True,
        )

    passed = sum(not result.problem for result in results)
    print(f"{passed} of {len(results)} runs have PyTorch's numbers; logs of all are in {KEPT / 'logs'}")
    if wrong:
        print(f"not as expected: {', '.join(wrong)}")
    if len(runs) < len(programs) * len(DEVICES):
        return bool(wrong)
    found = table(programs, results, waiting)
    (KEPT / "table.md").write_text(found + "\n")
    if options.page:
        text = options.page.read_text()
        before, _, rest = text.partition(BEGIN)
        _, end, after = rest.partition(END)
        if not end:
            raise SystemExit(
                f"{options.page} has no lines {BEGIN!r} and {END!r} for the table to stand between"
            )
        written = f"{before}{BEGIN}\n\n{found}\n\n{END}{after}"
        if options.write:
            options.page.write_text(written)
        elif written != text:
            print(
                f"{options.page} has another table of packages: run with --write, or copy {KEPT / 'table.md'}"
            )
            return 1
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
