"""The results of functional collectives: tensors that wait for their collective when somebody uses them.

Note [Waiting at the first use]
A functional collective gives its result before it is there. Shapes and windows of it do not need the values, so a
window waits for the same collective, later; every other operator waits first and then computes with the plain tensor,
so what it gives is a plain tensor. On a device with streams waiting is an event: the host goes on.
"""

from __future__ import annotations

from typing import Any

from .._C import Tensor
from ..utils import _pytree
from .work import Work


class _Pending:
    """A collective, which is waited for once."""

    def __init__(self, work: Work) -> None:
        self.work: Work | None = work

    def wait(self) -> None:
        work = self.work
        if work is not None:
            work.wait()
            self.work = None


class AsyncCollectiveTensor(Tensor):
    """A tensor whose values a collective brings. Note [Waiting at the first use]."""

    elem: Tensor
    _pending: _Pending

    @staticmethod
    def __new__(cls, elem: Tensor, pending: _Pending) -> AsyncCollectiveTensor:
        made: AsyncCollectiveTensor = Tensor._make_wrapper_subclass(
            cls,
            elem.size(),
            strides=elem.stride(),
            storage_offset=elem.storage_offset(),
            dtype=elem.dtype,
            layout=elem.layout,
            device=elem.device,
            requires_grad=elem.requires_grad,
        )
        made.elem, made._pending = elem, pending
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    @property
    def completed(self) -> bool:
        """Whether it was waited for."""
        return self._pending.work is None

    def trigger_wait(self) -> Tensor:
        """The plain tensor, when it is there."""
        self._pending.wait()
        return self.elem

    wait = trigger_wait

    def _get_acs_underlying_tensor(self) -> Tensor:
        return self.elem

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"AsyncCollectiveTensor({self.trigger_wait()})"

    def tolist(self) -> Any:
        return self.trigger_wait().tolist()

    def numpy(self, *args: Any, **kwargs: Any) -> Any:
        if self.requires_grad:
            return super().numpy(*args, **kwargs)  # refuses
        return self.trigger_wait().numpy(*args, **kwargs)

    def data_ptr(self) -> int:
        return self.trigger_wait().data_ptr()

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        self.trigger_wait()
        return ["elem"], None

    @staticmethod
    def __tensor_unflatten__(inner: dict[str, Tensor], told: None, size: Any, stride: Any) -> Tensor:
        return inner["elem"]

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.is_view:
            source = args[0]
            found = func(source.elem, *args[1:], **(kwargs or {}))

            def windows(each: Any) -> Any:
                return AsyncCollectiveTensor(each, source._pending) if isinstance(each, Tensor) else each

            return _pytree.tree_map(windows, found)

        def waited(each: Any) -> Any:
            return each.trigger_wait() if isinstance(each, AsyncCollectiveTensor) else each

        return func(*_pytree.tree_map(waited, tuple(args)), **_pytree.tree_map(waited, kwargs or {}))


def pending(result: Tensor, work: Work | None) -> Tensor:
    """The result of a collective that has begun."""
    return result if work is None else AsyncCollectiveTensor(result, _Pending(work))
