"""Counts the collectives of a program: how many of each kind, in which module, forward or backward."""

from __future__ import annotations

import json
import os
import re
import weakref
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from .... import _C, nn, ops
from ....nn.modules.module import register_module_forward_pre_hook, register_module_full_backward_pre_hook
from ....utils._python_dispatch import TorchDispatchMode
from ..._told import listeners
from .._api import DTensor

__all__ = ["CommDebugMode"]

# PyTorch's operators of a group's collectives, by their names here. Messages and barriers are not counted.
_PLAIN = {
    "all_gather": "allgather_", "all_gather_coalesced": "allgather_coalesced_",
    "all_gather_into_tensor": "_allgather_base_", "all_reduce": "allreduce_", "all_to_all": "alltoall_",
    "all_to_all_single": "alltoall_base_", "broadcast": "broadcast_", "gather": "gather_", "reduce": "reduce_",
    "reduce_scatter": "reduce_scatter_", "reduce_scatter_tensor": "_reduce_scatter_base_", "scatter": "scatter_",
}  # fmt: skip
_TRIVIAL = frozenset(
    f"aten.{name}"
    for name in (
        "detach.default", "t.default", "view.default", "_to_copy.default", "as_strided.default", "transpose.int",
    )
)  # fmt: skip
_GLOBAL = "Global"  # the program around all modules
_Counts = dict[str, defaultdict[Any, int]]  # "forward" and "backward"


def _operator(name: str) -> Any:
    """The operator that a collective counts as; None if it does not count."""
    namespace, _, short = name.rpartition(".")
    if not namespace:
        namespace, short = "c10d", _PLAIN.get(short, "")
    return getattr(getattr(ops, namespace), short) if short else None


class _Modules:
    """Which module runs, and what is known of those that have run."""

    def __init__(self) -> None:
        self._names: weakref.WeakKeyDictionary[nn.Module, str] = weakref.WeakKeyDictionary()
        self._handles: list[Any] = []
        self._clear()

    def _clear(self) -> None:
        self.name = _GLOBAL
        self.activation_checkpointing = False  # a forward pass inside a backward pass
        self.module_helper_dict: dict[str, dict[str, Any]] = {_GLOBAL: {"depth": 0}}
        self.module_parents_dict: dict[str, set[str]] = {_GLOBAL: set()}
        self.module_parameters_dict: dict[str, dict[str, Any]] = {}
        self.sharding_dict: dict[str, Any] = {}
        self.parent_dict: dict[str, list[str]] = {}
        self.parent_list = [_GLOBAL]
        self._end_awaited = False

    @property
    def is_bw(self) -> bool:
        """Whether a backward pass runs."""
        return _C._current_graph_task_id() != -1

    def around(self) -> set[str]:
        """The module that runs and those around it."""
        return {self.name, *self.module_parents_dict.get(self.name, {_GLOBAL})}

    def __enter__(self) -> Self:
        self._clear()
        self._handles = [
            register_module_forward_pre_hook(self._before),
            register_module_full_backward_pre_hook(self._before_backward),
        ]
        return self

    def __exit__(self, *exception: object) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def _name_of(self, module: nn.Module) -> str:
        """Its path from the first module around it that has run, which is called by its class."""
        if module not in self._names:
            for path, part in module.named_modules():
                self._names[part] = ".".join(filter(None, (type(module).__name__, path)))
        return self._names[module]

    def _before(self, module: nn.Module, args: Any) -> None:
        self.name = name = self._name_of(module)
        self.activation_checkpointing = self.is_bw
        if self.is_bw:
            self._await_end()
            return
        if name not in self.module_helper_dict:
            self._describe(name, module)
        self.parent_list.append(name)

        def after(*_: Any) -> None:
            handle.remove()
            self.parent_list.pop()
            self.name = self.parent_list[-1]

        # After all hooks of the module itself, which may redistribute what it gives.
        handle = module.register_forward_hook(after, always_call=True)

    def _describe(self, name: str, module: nn.Module) -> None:
        kind = str(type(module)).strip("<>")
        told = self.module_helper_dict[name] = {"module_type": kind, "depth": len(self.parent_list)}
        self.module_parents_dict[name] = {*self.parent_list, name}
        self.parent_dict.setdefault(self.parent_list[-1], []).append(name)
        for short, parameter in module.named_parameters(recurse=False):
            self.module_parameters_dict.setdefault(name, {})[short] = parameter.data
            if isinstance(parameter.data, DTensor):
                placements = self.sharding_dict[f"{name}.{short}"] = parameter.data.placements
                told.setdefault("parameters", {})[short] = str(placements)

    def _before_backward(self, module: nn.Module, gradients: Any) -> None:
        self.name, self.activation_checkpointing = self._name_of(module), False
        self._await_end()

    def _await_end(self) -> None:
        """What comes after a backward pass belongs to no module."""
        if not self._end_awaited:
            self._end_awaited = True
            _C._queue_callback(self._backward_ended)

    def _backward_ended(self) -> None:
        self._end_awaited, self.activation_checkpointing = False, False
        self.name = self.parent_list[-1]

    def print_paramater_info(self) -> None:
        """Prints the parameters by module. The name is PyTorch's."""
        print(self.module_parameters_dict)

    def print_sharding_info(self) -> None:
        """Prints how each parameter that is a ``DTensor`` lies."""
        for name, placements in self.sharding_dict.items():
            print(f"{name}: {placements}")


class CommDebugMode(TorchDispatchMode):
    """While it is on (a context manager), collectives are counted by PyTorch's operators for them.

    Those of a ``DTensor`` and functional ones count as ``torch.ops.c10d_functional``'s, others as ``torch.ops.c10d``'s.
    """

    def __init__(self) -> None:
        super().__init__()
        self.comm_counts: defaultdict[Any, int] = defaultdict(int)
        self.comm_module_counts: dict[str, _Counts] = {}
        self.comm_module_operation_counts: dict[str, dict[str, list[dict[str, Any]]]] = {}
        self.advanced_module_tracker = _Modules()

    def __repr__(self) -> str:
        return f"CommDebugMode(get_total_counts()={self.get_total_counts()})"

    def __enter__(self) -> Self:
        self.comm_counts.clear()
        self.comm_module_counts.clear()
        self.comm_module_operation_counts.clear()
        self._counts_of(_GLOBAL)
        super().__enter__()
        self.advanced_module_tracker.__enter__()
        listeners.append(self._asked)
        return self

    def __exit__(self, *exception: object) -> None:
        listeners.remove(self._asked)
        self.advanced_module_tracker.__exit__(*exception)
        super().__exit__(*exception)

    def get_comm_counts(self) -> dict[Any, int]:
        """How often each collective was asked for, by operator."""
        return self.comm_counts

    def get_total_counts(self) -> int:
        """How many collectives there were."""
        return sum(self.comm_counts.values())

    def get_parameter_info(self) -> dict[str, dict[str, Any]]:
        """The parameters of the modules that ran, by module and name."""
        return self.advanced_module_tracker.module_parameters_dict

    def get_sharding_info(self) -> dict[str, Any]:
        """The placements of those that are DTensors, by path."""
        return self.advanced_module_tracker.sharding_dict

    def _counts_of(self, module: str) -> _Counts:
        made: _Counts = {"forward": defaultdict(int), "backward": defaultdict(int)}
        return self.comm_module_counts.setdefault(module, made)

    def _asked(self, name: str) -> None:
        if (operator := _operator(name)) is None:
            return
        self.comm_counts[operator] += 1
        direction = "backward" if self.advanced_module_tracker.is_bw else "forward"
        for module in self.advanced_module_tracker.around():
            self._counts_of(module)[direction][operator] += 1
        self._keep(operator, [])

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self._keep(func, [each for each in args if isinstance(each, DTensor)])
        if any(issubclass(each, DTensor) for each in types):
            return NotImplemented  # it computes with its parts, and those operators come here
        return func(*args, **(kwargs or {}))

    def _keep(self, operator: Any, distributed: list[DTensor]) -> None:
        tracker = self.advanced_module_tracker
        lists = self.comm_module_operation_counts.setdefault(tracker.name, {"operations_list": []})
        lists["operations_list"].append(
            {
                "name": operator,
                "input_shape": [each.shape for each in distributed],
                "input_sharding": [each.placements for each in distributed],
                "device_mesh": str(distributed[-1].device_mesh) if distributed else "",
                "is_bw": tracker.is_bw,
                "is_activation_checkpointing": tracker.activation_checkpointing,
            }
        )

    # ---- what a user reads -------------------------------------------------------------------------------------

    def _operations(self, module: str, noise_level: int) -> dict[str, list[dict[str, Any]]]:
        """Those of a module by pass. Level 1: of DTensors; 2: of all tensors; 3: also those that only look at them."""
        found: dict[str, list[dict[str, Any]]] = {"forward": [], "backward": [], "checkpointing": []}
        kept = self.comm_module_operation_counts.get(module, {"operations_list": []})
        for each in kept["operations_list"]:
            if noise_level < (3 if str(each["name"]) in _TRIVIAL else 1 if each["input_shape"] else 2):
                continue
            again = each["is_activation_checkpointing"]
            found["checkpointing" if again else "backward" if each["is_bw"] else "forward"].append(each)
        return found

    def generate_comm_debug_tracing_table(self, noise_level: int = 3) -> str:
        """The modules with their collectives; from level 1 with parameters and operators (``_operations``)."""
        lines: list[str] = []
        for module, told in self.advanced_module_tracker.module_helper_dict.items():
            lines += self._lines(module, told, noise_level)
        return "".join(f"{line}\n" for line in lines)

    def _lines(self, module: str, told: dict[str, Any], noise_level: int) -> Iterator[str]:
        indent = "    " * told["depth"]
        yield f"{indent}{module}"
        if noise_level > 0 and "module_type" in told:
            yield f"{indent}*module type: {told['module_type']}"
        if noise_level > 0 and "parameters" in told:
            yield f"{indent}*Parameter List"
            yield from (f"{indent} *{name}: {placed}" for name, placed in told["parameters"].items())
        counts, operations = self._counts_of(module), self._operations(module, noise_level)
        titles = {"forward": "FORWARD PASS", "backward": "BACKWARD PASS"}
        for which, title in (titles | {"checkpointing": "ACTIVATION CHECKPOINTING"}).items():
            collectives: dict[Any, int] = counts.get(which, {})
            if not collectives and not operations[which]:
                continue
            yield f"{indent}  {title}"
            for operator, count in collectives.items():
                yield f"\033[1;33m{indent}    *{operator}: {count}\033[0m"
            for each in operations[which]:
                yield f"\033[1;33m{indent}    **{each['name']}\033[0m"
                if each["input_shape"]:
                    for name, key in _DETAILS.items():
                        yield f"\033[1;31m{indent}      {name}: {each[key]}\033[0m"

    def log_comm_debug_tracing_table_to_file(
        self, file_name: str | os.PathLike[str] = "comm_mode_log.txt", noise_level: int = 3
    ) -> None:
        """The table without colours, in a file."""
        table = self.generate_comm_debug_tracing_table(noise_level)
        Path(file_name).write_text(re.sub(r"\033\[[\d;]*m", "", table), encoding="utf-8")

    def generate_json_dump(
        self, file_name: str | os.PathLike[str] = "comm_mode_log.json", noise_level: int = 3
    ) -> None:
        """The same as a tree of modules, in a file, which PyTorch's viewer shows."""
        Path(file_name).write_text(json.dumps(self._tree(_GLOBAL, noise_level), indent=4), encoding="utf-8")

    def _tree(self, module: str, noise_level: int) -> dict[str, Any]:
        tracker = self.advanced_module_tracker
        told = tracker.module_helper_dict[module] if noise_level > 0 else {}
        made: dict[str, Any] = {
            "fqn": module,
            "module_type": told.get("module_type", ""),
            "parameters": list(told.get("parameters", {}).items()),
            "children": [self._tree(child, noise_level) for child in tracker.parent_dict.get(module, [])],
        }
        for which, counts in self._counts_of(module).items():
            made[f"collectives_{which}"] = [(str(operator), count) for operator, count in counts.items()]
        for which, operations in self._operations(module, noise_level).items():
            made[f"operations_{which}"] = [_as_text(each) for each in operations]
        return made


_DETAILS = {"shape": "input_shape", "sharding": "input_sharding", "device mesh": "device_mesh"}


def _as_text(operation: dict[str, Any]) -> dict[str, Any]:
    words = {key: [str(each) for each in operation[key]] for key in ("input_shape", "input_sharding")}
    return operation | words | {"name": str(operation["name"])}
