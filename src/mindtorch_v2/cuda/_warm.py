"""Kernels compiled ahead: ``mindtorch cuda warm``. Which, the operators themselves say: Note [Rehearsals] in
csrc/backends/cuda/rehearsal.h."""

from __future__ import annotations

import concurrent.futures
import json
import os
import queue
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from .. import _C

_UNARY = "neg abs exp log sqrt rsqrt reciprocal sin cos tanh sigmoid relu square logical_not isnan isfinite".split()
_BINARY = "add sub mul div eq ne lt le gt ge pow".split()
_ACTIVATIONS = "relu gelu silu sigmoid tanh leaky_relu softplus".split()


def warm(architecture: str, *, everything: bool, jobs: int) -> None:
    """Compiles what the usual operators ask for into the folder of machine code."""
    began = time.monotonic()
    workers = [_Worker() for _ in range(jobs)]
    try:
        programs = workers[0].ask("rehearse", architecture, everything)
        folder = _C._cuda.cache_folder()
        print(f"{len(programs)} programs for {architecture}, {jobs} at once, into {folder}", flush=True)
        # The rehearsal's process has no driver any more, but compiles as well as the others.
        idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        for worker in workers:
            idle.put(worker)

        def compile_one(program: str) -> bool:
            worker = idle.get()
            try:
                return bool(worker.ask("compile_ahead", program, architecture))
            finally:
                idle.put(worker)

        compiled = 0
        with concurrent.futures.ThreadPoolExecutor(jobs) as threads:
            for done, new in enumerate(threads.map(compile_one, programs), 1):
                compiled += new
                if sys.stdout.isatty() or done % 50 == 0 or done == len(programs):
                    end = "\r" if sys.stdout.isatty() and done < len(programs) else "\n"
                    seconds = time.monotonic() - began
                    print(f"  {done} of {len(programs)}, {seconds:.0f} s", end=end, flush=True)
    finally:
        for worker in workers:
            worker.end()
    print(f"{compiled} compiled, {len(programs) - compiled} were there already")


class _Worker:
    """A process that answers questions, a line of JSON each."""

    def __init__(self) -> None:
        program = f"from {__name__} import answer; answer()"
        environment = os.environ | {
            "MINDTORCH_CUDA": "on"
        }  # the rehearsal's device is there whatever the machine has
        self._process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def ask(self, *question: Any) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("a process that compiles kernels has ended; what it said is above")
        answered, problem = json.loads(line)
        if problem:
            raise RuntimeError(problem)
        return answered

    def end(self) -> None:
        self._process.communicate()  # it ends with what it reads


def answer() -> None:
    """What such a process does."""
    for line in sys.stdin:
        what, *arguments = json.loads(line)
        try:
            found = rehearse(*arguments) if what == "rehearse" else _C._cuda.compile_ahead(*arguments)
            answered = (found, "")
        except RuntimeError as error:
            answered = (False, str(error))
        print(json.dumps(answered), flush=True)


def rehearse(architecture: str, everything: bool) -> list[str]:
    """The programs that operators ask for, in a process that has not used CUDA."""
    _C._cuda.rehearse(architecture)
    import mindtorch_v2 as torch

    if _C._cuda.rehearsed_programs():
        raise RuntimeError("a process can rehearse once")
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for run in _usual(torch, dtype):
            run()
    if everything:
        for run in _of_the_table(torch):
            try:
                run()
            except (RuntimeError, NotImplementedError, ValueError, TypeError, IndexError):
                continue  # not for this dtype, not on GPUs, or a library's: there is no program to compile
    return _C._cuda.rehearsed_programs()


def _usual(torch: Any, dtype: Any) -> Iterator[Callable[[], object]]:
    """What training and inference of most models calls, besides what libraries do: convolutions and most products."""
    functional = torch.nn.functional

    def tensor(*sizes: int, grad: bool = False, of: Any = dtype) -> Any:
        return torch.ones(*sizes, device="cuda", dtype=of, requires_grad=grad)

    def backward(function: Callable[..., Any], *inputs: Any) -> Callable[[], object]:
        return lambda: function(*inputs).backward(torch.ones_like(function(*inputs)))

    x, y, row = tensor(8, 16), tensor(8, 16), tensor(16)
    index = torch.zeros(8, dtype=torch.int64, device="cuda")
    mask = torch.zeros(8, 16, dtype=torch.bool, device="cuda")
    for name in _UNARY:
        yield partial(getattr(torch, name), x)
    for name in _BINARY:
        yield partial(getattr(torch, name), x, y)
        yield partial(getattr(torch, name), x, 2.0)
    for other in (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.uint8):
        yield partial(x.to, other)
        yield partial(tensor(4, of=other).to, dtype)
    yield lambda: (1.0 - x, 1.0 / x, x.add_(y, alpha=0.5), x.mul_(0.5), x.clamp(0, 1), x.zero_(), x.fill_(2))
    yield lambda: (torch.maximum(x, y), torch.minimum(x, y))
    yield lambda: (torch.addcmul(x, x, y), torch.addcdiv(x, x, y), torch.lerp(x, y, 0.5))
    yield lambda: (torch.where(mask, x, y), x.masked_fill(mask, 0.0), torch.where(mask, x, 0.0))
    yield lambda: (
        x.sum(),
        x.sum(0),
        x.mean(),
        x.mean(1),
        x.amax(1),
        x.amin(1),
        x.max(1),
        x.argmax(1),
        x.norm(),
    )
    yield lambda: (
        x.t().contiguous(),
        torch.cat([x, y]),
        torch.stack([x, y]),
        x[index],
        x.index_select(0, index),
    )
    yield lambda: (x.tril(), x.triu(), x.cumsum(1), torch.sort(x), torch.topk(x, 2), x.var(1))
    yield lambda: (torch.zeros_like(x), torch.full((4,), 3, dtype=dtype, device="cuda"))
    yield lambda: (torch.randn(8, dtype=dtype, device="cuda"), torch.rand(8, dtype=dtype, device="cuda"))
    yield lambda: (
        torch.arange(8, device="cuda"),
        torch.randint(9, (8,), device="cuda"),
        index == 0,
        index + index,
    )
    for name in _ACTIVATIONS:
        yield backward(getattr(functional, name), tensor(8, 16, grad=True))
    yield backward(lambda t: functional.softmax(t, -1), tensor(8, 16, grad=True))
    yield backward(lambda t: functional.log_softmax(t, -1), tensor(8, 16, grad=True))
    yield backward(
        functional.scaled_dot_product_attention, *(tensor(1, 2, 8, 64, grad=True) for _ in range(3))
    )
    yield backward(lambda t: functional.dropout(t, 0.1), tensor(8, 16, grad=True))
    yield backward(
        lambda t, w, b: functional.layer_norm(t, (16,), w, b),
        tensor(8, 16, grad=True), tensor(16, grad=True), tensor(16, grad=True),
    )  # fmt: skip
    yield backward(
        lambda t, w: functional.rms_norm(t, (16,), w), tensor(8, 16, grad=True), tensor(16, grad=True)
    )
    yield backward(lambda w: functional.embedding(index, w), tensor(8, 16, grad=True))
    yield backward(lambda t: functional.cross_entropy(t, index), tensor(8, 16, grad=True))
    yield backward(lambda t: functional.mse_loss(t, y), tensor(8, 16, grad=True))
    yield backward(lambda t: t * row + row, tensor(8, 16, grad=True))
    if dtype is torch.float32 and torch.cuda.get_device_capability() == (9, 0):
        for rows, inner, columns in ((3456, 384, 384), (8192, 768, 3072)):
            layer = tensor(columns, inner, grad=True), tensor(columns, grad=True)
            yield backward(functional.linear, tensor(rows, inner, grad=True), *layer)
    for make in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
        for fused in (False, True):
            yield partial(_step, torch, make, [tensor(8, 16, grad=True), tensor(16, grad=True)], fused)


def _step(torch: Any, make: Any, weights: list[Any], fused: bool) -> None:
    for weight in weights:
        weight.grad = torch.ones_like(weight)
    options = {"momentum": 0.9} if make is torch.optim.SGD else {}
    torch.nn.utils.clip_grad_norm_(weights, 1.0)
    optimizer = make(weights, lr=0.1, fused=fused, **options)
    optimizer.step()
    optimizer.zero_grad()


def _of_the_table(torch: Any) -> Iterator[Callable[[], object]]:
    """Operators whose only arguments without a default are one or two tensors."""
    pattern = re.compile(r"^\(Tensor \w+(?:, Tensor \w+)?(?:, (?:\*, )?\w[^=,]*=[^,]*)*\) -> Tensor$")
    for name, overload, schema in _C._dispatch.operators():
        if not pattern.match(schema) or "random" in name:
            continue
        packet = getattr(torch.ops.aten, name.removeprefix("aten::"), None)
        if packet is None:
            continue
        operator = getattr(packet, overload or "default")
        count = schema.count("Tensor ", 0, schema.index(")"))
        for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.int64):
            inputs = [torch.ones(8, 8, device="cuda", dtype=dtype) for _ in range(count)]
            yield partial(operator, *inputs)
