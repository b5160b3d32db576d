"""The engine as programs reach it, and PyTorch's names in ``torch._C._autograd`` and ``torch._C._functions``."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from enum import IntEnum
from types import ModuleType
from typing import Any

from .. import _C
from .._absent import names_of
from .._C import Tensor
from .function import _FunctionBase
from .graph import GradientEdge, Node


class _EngineBase:
    """``Variable._execution_engine``: runs passes."""

    def run_backward(
        self,
        tensors: Sequence[Tensor | GradientEdge],
        grad_tensors: Sequence[Tensor | None],
        keep_graph: bool,
        create_graph: bool,
        inputs: Sequence[Tensor | GradientEdge] = (),
        allow_unreachable: bool = True,
        accumulate_grad: bool = False,
    ) -> tuple[Tensor | None, ...]:
        """A pass that fills ``.grad`` (``accumulate_grad``) or returns the gradients of ``inputs``."""
        roots, wanted = [list(map(_standing_for, given)) for given in (tensors, inputs)]
        if accumulate_grad or not wanted:
            _C._backward(roots, list(grad_tensors), wanted, keep_graph, create_graph)
            return ()
        return tuple(_C._grad(roots, list(grad_tensors), wanted, keep_graph, create_graph, allow_unreachable))

    def queue_callback(self, callback: Callable[[], Any]) -> None:
        """Calls ``callback`` when the pass that is running is done."""
        _C._queue_callback(callback)

    def is_checkpoint_valid(self) -> bool:
        """Whether a checkpoint with use_reentrant=True may run its own pass now: not inside grad() or inputs=."""
        return _C._reentrant_passes_allowed()


def _standing_for(given: Tensor | GradientEdge) -> Tensor:
    """What stands for an edge in a pass."""
    return _C._tensor_at_edge(given[0], given[1]) if isinstance(given, tuple) else given


class DelayedError:
    """A function whose results raise ``msg`` when backward reaches them."""

    def __init__(self, msg: str | bytes, num_inputs: int) -> None:
        self._message = msg.decode() if isinstance(msg, bytes) else msg
        self._count = num_inputs

    def __call__(self, *tensors: Tensor | None) -> Any:
        made = _C._marked("Error", self._message, list(tensors))
        return made[0] if len(made) == 1 else tuple(made)


class UndefinedGrad:
    """A function whose results pass no gradient on."""

    def __call__(self, *tensors: Tensor | None) -> Any:
        made = _C._marked("UndefinedGradBackward", "", list(tensors))
        return made[0] if len(made) == 1 else tuple(made)


for _kind in (DelayedError, UndefinedGrad):
    Node.register(_kind)  # in PyTorch they are nodes themselves


class _WeakTensorRef:
    """Says whether a tensor is still there, in Python or in the graph."""

    def __init__(self, tensor: Tensor) -> None:
        self._reference = weakref.ref(tensor)

    def expired(self) -> bool:
        return self._reference() is None


class CreationMeta(IntEnum):
    """How a view was made, which decides whether it may be written to where gradients are recorded."""

    DEFAULT = 0
    IN_CUSTOM_FUNCTION = 1
    MULTI_OUTPUT_NODE = 2
    NO_GRAD_MODE = 3
    INFERENCE_MODE = 4


class _CachedTensors:
    """Tensors that somebody keeps for the next run of a recorded program; backward takes no memory over that anybody
    has a tensor of, so there is nothing more to know of them."""

    def __init__(self) -> None:
        self._references: dict[int, weakref.ref[Tensor]] = {}

    def _set_cached_tensors_enabled(self, enabled: bool) -> None:
        if not enabled:
            self._references.clear()

    def _add_cached_tensor(self, tensor: Tensor) -> None:
        key = id(tensor)
        self._references[key] = weakref.ref(tensor, lambda _: self._references.pop(key, None))

    def _remove_cached_tensor(self, tensor: Tensor) -> None:
        self._references.pop(id(tensor), None)

    def _is_cached_tensor(self, tensor: Tensor) -> bool:
        return id(tensor) in self._references


cached_tensors = _CachedTensors()


def kineto_available() -> bool:
    """Whether there is a profiler: always."""
    return True


def _function_of_engine(name: str) -> Any:
    """The few that are no operators, under ``torch._C._functions``."""
    if name in ("DelayedError", "UndefinedGrad"):
        return globals()[name]
    if name in ("AccumulateGrad", "Error"):
        return _C._node_type(name)
    raise AttributeError(f"module 'torch._C._functions' has no attribute {name!r}")


def _make_namespace() -> None:
    module = ModuleType(f"{_C.__name__}._autograd", "PyTorch's names for what autograd has in C++.")
    kept = {
        "SavedTensor": _C.SavedTensor,
        "_InputMetadata": _C._InputMetadata,
        "_get_current_graph_task_keep_graph": _C._pass_keeps_graph,
        "_push_saved_tensors_default_hooks": _C._push_saved_tensors_hooks,
        "_pop_saved_tensors_default_hooks": _C._pop_saved_tensors_hooks,
        "_top_saved_tensors_default_hooks": lambda ignore_is_tracing=False: _C._top_saved_tensors_hooks(),
        "_saved_tensors_hooks_is_enabled": lambda: not _C._why_saved_tensors_hooks_are_disabled(),
        "_saved_tensors_hooks_disable": _C._disable_saved_tensors_hooks,
        "_saved_tensors_hooks_enable": lambda: _C._disable_saved_tensors_hooks(""),
        "_saved_tensors_hooks_get_disabled_error_message": lambda: (
            _C._why_saved_tensors_hooks_are_disabled() or None
        ),
        "_get_sequence_nr": _C._next_sequence_nr,
        "CreationMeta": CreationMeta,
        "_get_creation_meta": lambda view: CreationMeta(_C._view_making(view)),
        "_set_creation_meta": lambda view, meta: _C._set_view_making(view, int(meta)),
        "kineto_available": kineto_available,
    }
    vars(module).update(kept)
    module.__getattr__ = names_of(module.__name__)  # type: ignore[method-assign]
    sys.modules[module.__name__] = module  # where torch._C looks for it


_make_namespace()
_C._EngineBase = _EngineBase
_C._ImperativeEngine = _EngineBase
_C._FunctionBase = _FunctionBase
_C._WeakTensorRef = _WeakTensorRef
setattr(_C._functions, "__getattr__", _function_of_engine)  # noqa: B010 - a module's
