"""How many operators of PyTorch's own database (OpInfo) agree with PyTorch: the table in the README.

    make score                                          # all, and whether the README says so
    make score ARGS="--devices npu --match linalg"      # a part, with what went wrong
    make score ARGS="--dtypes float64 --samples 3"
    make score ARGS="--kinds vmap,'vmap in one call' --devices cpu"
    make score ARGS="--kinds tangent --devices cpu"     # forward mode
    make score ARGS="--kinds errors,reference --devices cpu"

An operator agrees if every sample gives PyTorch's results: their number, shapes, dtypes and values, and in the second
line the gradients of every input. `tangent` asks how results move when all inputs do (forward mode). Samples are spread
over those of the database; ones with nested tensors are left out. An operator that lacks the dtype is tried in one that
it has. Random numbers are PyTorch's on the cpu; on the npu only their shapes and dtypes are compared, and no gradients.
Operators run in processes of their own, so that one that crashes or hangs has failed and the others go on. The whole
takes about three minutes of CPU time.

Of `vmap`, an operator is right if it gives what a loop over the slices gives; `vmap in one call` counts those for which
no operator ran slice by slice. Of `errors`, an operator is right if each input that the database calls wrong gives the
error that it names, type and text; `reference` asks for values of the many samples that it has for references.
"""

from __future__ import annotations

import argparse
import multiprocessing
import multiprocessing.connection
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
KINDS = ("forward", "gradient", "tangent", "vmap", "vmap in one call", "errors", "reference")
IN_THE_README = ["forward", "gradient"]
DEVICES = ("cpu", "npu")

Question = tuple[str, str, str, str]  # kind, device, dtype, operator


# ---- in a process of its own -------------------------------------------------------------------------


def questions(dtype: str, kinds: list[str], devices: list[str], match: str) -> list[Question]:
    """What can be asked, the same operator on all devices one after the other."""
    from opinfo_bridge import OPS
    from opinfo_checks import has_gradient, is_drawn

    def makes_sense(kind: str, device: str, op: Any) -> bool:
        if kind in ("errors", "reference"):
            made_by = op.error_inputs_func if kind == "errors" else op.reference_inputs_func
            return dtype == "float32" and made_by is not None
        return kind != "gradient" or (dtype == "float32" and has_gradient(op) and not is_drawn(op, device))

    return [
        (kind, device, dtype, name)
        for name, op in sorted(OPS.items())
        if match in name
        for kind in kinds
        for device in devices
        if makes_sense(kind, device, op)
    ]


def ask(question: Question, count: int) -> None:
    """Raises if the operator does not agree."""
    import torch
    from opinfo_bridge import OPS
    from opinfo_checks import (
        check_errors,
        check_forward,
        check_gradient,
        check_reference,
        check_tangent,
        check_vmap,
        main_dtype,
        quiet,
    )

    kind, device, dtype, name = question
    op = OPS[name]
    with quiet():
        if kind == "gradient":
            check_gradient(op, count, device)
            return
        if kind == "errors":
            check_errors(op, device)
            return
        if kind == "reference":
            check_reference(op, count, device)
            return
        if kind == "tangent":
            check_tangent(op, count, device)
            return
        wanted = getattr(torch, dtype)
        supported = wanted if wanted in op.supported_dtypes("cpu") else main_dtype(op)
        if kind == "forward":
            check_forward(op, supported, count, device)
        else:
            check_vmap(op, supported, count, device, in_one_call=kind == "vmap in one call")


def answer_questions(pipe: Any, count: int, threads: int) -> None:
    """The whole life of a worker: answers None, or what went wrong, to each question."""
    import torch

    import mindtorch_v2

    for library in (torch, mindtorch_v2):
        library.set_num_threads(threads)
    pipe.send("ready")
    while (question := pipe.recv()) is not None:
        try:
            ask(question, count)
        except Exception as error:  # noqa: BLE001 - every disagreement counts, and is reported
            pipe.send("".join(traceback.format_exception_only(error)).strip() or type(error).__name__)
        else:
            pipe.send(None)


# ---- the parent --------------------------------------------------------------------------------------


class Worker:
    """A process that answers one question at a time, and is replaced when it ends or does not answer in time."""

    def __init__(self, count: int, threads: int, limit: float) -> None:
        self.settings, self.limit = (count, threads), limit
        self.question: Question | None = None
        self.start()

    def start(self) -> None:
        self.pipe, theirs = multiprocessing.Pipe()
        # Forked: both libraries and the database are there already, and have not computed yet.
        self.process = multiprocessing.get_context("fork").Process(
            target=answer_questions, args=(theirs, *self.settings), daemon=True
        )
        self.process.start()
        theirs.close()
        if not self.pipe.poll(300) or self.pipe.recv() != "ready":
            raise SystemExit("score.py: a worker did not start; run `make parity` to see whether both import")

    def give(self, question: Question) -> None:
        self.question, self.deadline = question, time.monotonic() + self.limit
        self.pipe.send(question)

    def answer(self) -> str | None:
        """Of a worker whose pipe has something, or whose time is over."""
        self.question = None
        try:
            if self.pipe.poll():
                reply: str | None = self.pipe.recv()
                return reply
            problem = f"no answer within {self.limit:.0f} s"
        except (EOFError, ConnectionError):
            self.process.join()
            problem = f"the process ended with status {self.process.exitcode}"
        self.process.kill()
        self.process.join()
        self.start()
        return problem


class Progress:
    """How far it is, on standard error: a line that changes, or without a terminal one every ten seconds."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.failed = total, 0, 0
        self.began = time.monotonic()
        self.live = sys.stderr.isatty()
        self.next_line = 0.0

    def add(self, problem: str | None) -> None:
        self.done += 1
        self.failed += problem is not None
        now = time.monotonic()
        if not self.live and now < self.next_line and self.done < self.total:
            return
        self.next_line = now + 10
        text = f"{self.done}/{self.total} asked, {self.failed} disagree, {now - self.began:.0f} s"
        last = self.done == self.total
        print("\r" + text if self.live else text, end="" if self.live and not last else "\n", file=sys.stderr)


def answers(asked: list[Question], options: argparse.Namespace) -> dict[Question, str | None]:
    """What went wrong with each question; None where nothing did."""
    left, found = asked[::-1], {}
    threads = max(1, len(os.sched_getaffinity(0)) // options.jobs)
    workers = [Worker(options.samples, threads, options.limit) for _ in range(min(options.jobs, len(asked)))]
    progress = Progress(len(asked))
    for worker in workers:
        worker.give(left.pop())
    while busy := [worker for worker in workers if worker.question is not None]:
        first = min(worker.deadline for worker in busy)
        pipes = multiprocessing.connection.wait(
            [worker.pipe for worker in busy], max(0.0, first - time.monotonic())
        )
        for worker in busy:
            question = worker.question
            if question is None or not (worker.pipe in pipes or time.monotonic() >= worker.deadline):
                continue
            found[question] = worker.answer()
            progress.add(found[question])
            if left:
                worker.give(left.pop())
    for worker in workers:
        worker.pipe.send(None)
        worker.process.join()
    return {question: found[question] for question in asked}


def table(found: dict[Question, str | None], options: argparse.Namespace) -> str:
    lines = ["| | " + " | ".join(options.devices) + " |", "|---|" + "---|" * len(options.devices)]
    for dtype in options.dtypes:
        for kind in options.kinds:
            cells = []
            for device in options.devices:
                problems = [p for (k, d, t, _), p in found.items() if (k, d, t) == (kind, device, dtype)]
                cells.append(f"{problems.count(None)} of {len(problems)}" if problems else "–")
            lines.append(f"| {kind}, {dtype} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def problems_as_text(found: dict[Question, str | None]) -> str:
    lines = []
    for (kind, device, dtype, name), problem in found.items():
        if problem is not None:
            lines.append(f"{name}, {kind} on {device}, {dtype}: {' '.join(problem.split())[:200]}")
    return "\n".join(lines)


def listed(text: str) -> list[str]:
    return text.split(",")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--devices", type=listed, default=list(DEVICES), help="default: cpu,npu")
    parser.add_argument("--kinds", type=listed, default=IN_THE_README, help="default: forward,gradient")
    parser.add_argument(
        "--dtypes", type=listed, default=["float32"], help="gradients are asked in float32 only"
    )
    parser.add_argument("--match", default="", metavar="TEXT", help="operators whose name contains it")
    parser.add_argument("--samples", type=int, default=10, help="of each operator, at most (default 10)")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes at once")
    parser.add_argument("--limit", type=float, default=120, help="seconds that an operator may take")
    parser.add_argument("--readme", type=Path, help="fail if this file does not have the table")
    options = parser.parse_args()
    for given, known in ((options.devices, DEVICES), (options.kinds, KINDS)):
        if wrong := set(given) - set(known):
            parser.error(f"{', '.join(sorted(wrong))}: expected some of {', '.join(known)}")

    asked = [q for t in options.dtypes for q in questions(t, options.kinds, options.devices, options.match)]
    if not asked:
        parser.error(f"no operator's name contains {options.match!r}")
    found = answers(asked, options)
    print(problems_as_text(found), file=sys.stderr)
    result = table(found, options)
    print(result)
    if options.readme and result not in options.readme.read_text():
        print(f"{options.readme} has another table. Put this one there.", file=sys.stderr)
        return 1
    return 0


sys.path.insert(0, str(ROOT / "tests" / "parity"))
if __name__ == "__main__":
    sys.exit(main())
