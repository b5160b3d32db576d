"""``FlopCounterMode``: floating point operations of products, convolutions and attention, by module.

It reads a recording of the profiler's, so that a profile which runs at the same time is interrupted. As in PyTorch, a
multiplication and an addition count as two, nothing elementwise counts, and attention counts on accelerators only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from .. import ops
from ..profiler._flops import flops_of
from ..profiler._function_event import FunctionEvent
from ..profiler._kinds import EventKind
from ..profiler._recording import Recording

__all__ = ["FlopCounterMode", "register_flop_formula"]

_SUFFIXES = ("", "K", "M", "B", "T")
# The operator of PyTorch's that a count belongs to, by the event that has its arguments.
_COUNTED = {
    "aten::mm": "mm",
    "aten::addmm": "addmm",
    "aten::bmm": "bmm",
    "aten::baddbmm": "baddbmm",
    "aten::_convolve": "convolution",
    "aten::_convolve_transposed": "convolution",
    "aten::_convolve_weight": "convolution_backward",
    "aten::_scaled_dot_product_flash_attention": "_scaled_dot_product_flash_attention",
}

# PyTorch has kernels of their own for these, which it does not count.
_UNCOUNTED = {"aten::mv", "aten::addmv", "aten::dot", "aten::vdot", "aten::bilinear"}


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Any], Any]:
    """Gives the formula back. Operators of programs are not counted: a recording lacks the shapes of their results."""
    return lambda formula: formula


def _outward(event: FunctionEvent | None) -> Iterable[FunctionEvent]:
    while event is not None:
        yield event
        event = event.cpu_parent


class FlopCounterMode:
    """Counts what runs inside a ``with`` block.

    with FlopCounterMode(display=False) as counter:
        model(images).sum().backward()
    print(counter.get_total_flops(), counter.get_flop_counts()["Net.encoder"])
    """

    _entered: list[FlopCounterMode] = []  # the last one records

    def __init__(
        self,
        mods: Any = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
    ) -> None:
        if custom_mapping:
            raise NotImplementedError(
                "FlopCounterMode: custom_mapping is not supported; see register_flop_formula"
            )
        self.depth = depth
        self.display = display
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self._recording: Recording | None = None

    def __enter__(self) -> FlopCounterMode:
        if self in self._entered:
            raise RuntimeError("FlopCounterMode: entered twice; make another one for the inner block")
        if self._entered:
            self._entered[-1]._pause()
        self.flop_counts.clear()
        self._entered.append(self)
        self._record()
        return self

    def __exit__(self, *exception: object) -> None:
        self._pause()
        self._entered.remove(self)
        if self._entered:
            outer = self._entered[-1]
            outer._add(self.flop_counts)
            outer._record()
        if self.display:
            print(self.get_table(self.depth))

    def get_total_flops(self) -> int:
        """All that was counted."""
        return sum(self.get_flop_counts()["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Counts by operator, for the path of each module that was called, with what it called, and for ``Global``."""
        if self._recording is not None:
            self._pause()
            self._record()
        self.flop_counts["Global"]  # there, also where nothing was counted
        return {module: dict(counts) for module, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as text; modules that lie deeper than ``depth`` are left out."""
        counts, total = self.get_flop_counts(), self.get_total_flops()
        depth = depth or self.depth or 999999
        modules = sorted(name for name in counts if name != "Global" and name.count(".") < depth)
        # What a module holds already is not shown once more.
        if total and all(sum(counts[name].values()) < total for name in modules):
            modules.insert(0, "Global")
        suffix = max(0, min(len(_SUFFIXES) - 1, (len(str(total)) - 2) // 3))

        def cells(label: str, count: int) -> tuple[str, str, str]:
            share = f"{count / total:.2%}" if total else "0%"
            return label, f"{count / 1000**suffix:.3f}{_SUFFIXES[suffix]}", share

        rows = [("Module", "FLOP", "% Total")]
        for name in modules:
            padding = "" if name == "Global" else " " * (name.count(".") + ("Global" in modules))
            rows.append(cells(padding + name, sum(counts[name].values())))
            rows += [cells(f"{padding} - {operator}", count) for operator, count in counts[name].items()]
        if len(rows) == 1:
            rows.append(("Global", "0", "0%"))
        left, middle, right = (
            max(len(header) + 2, *(len(row[column]) for row in rows)) for column, header in enumerate(rows[0])
        )
        rows.insert(1, ("-" * left, "-" * middle, "-" * right))
        return "\n".join(f"{a:<{left}}  {b:>{middle}}  {c:>{right}}".rstrip() for a, b, c in rows)

    def _record(self) -> None:
        self._recording = Recording(record_shapes=True, with_modules=True)
        self._recording.start()

    def _pause(self) -> None:
        recording, self._recording = self._recording, None
        if recording is None:
            return
        recording.stop()
        events = recording.events()
        modules = {event.module_hierarchy for event in events if event.kind is EventKind.MODULE}
        for event in events:
            name = _COUNTED.get(event.name)
            if name is None or event.kind is not EventKind.OPERATOR:
                continue
            around = list(_outward(event.cpu_parent))
            if any(outer.name in _UNCOUNTED for outer in around):
                continue
            if name == "convolution" and any(outer.kind is EventKind.RUN for outer in around):
                name = "convolution_backward"
            count = flops_of(event.name, event._arguments)
            path = next((outer.module_hierarchy for outer in (event, *around) if outer.module_hierarchy), "")
            inside = [module for module in modules if path == module or path.startswith(module + ".")]
            for module in ("Global", *inside):
                self.flop_counts[module][getattr(ops.aten, name)] += count

    def _add(self, counts: dict[str, dict[Any, int]]) -> None:
        for module, operators in counts.items():
            for operator, count in operators.items():
                self.flop_counts[module][operator] += count
