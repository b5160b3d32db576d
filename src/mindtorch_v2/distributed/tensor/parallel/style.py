"""How a module's parameters are cut, and how what goes in and comes out lies on the mesh."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from .... import nn
from ...._C import Tensor
from ...device_mesh import DeviceMesh
from .._api import DTensor, distribute_module, distribute_tensor
from ..placement_types import Placement, Replicate, Shard


class ParallelStyle(ABC):
    """The base of all styles."""

    src_data_rank: int | None = 0

    @abstractmethod
    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module: ...


def _placed(value: Any, mesh: DeviceMesh, given: Placement | None, wanted: Placement | None) -> Any:
    """A plain tensor counts as lying as ``given``; then it is made to lie as ``wanted``."""
    if not isinstance(value, Tensor) or given is None:
        return value
    if not isinstance(value, DTensor):
        value = DTensor.from_local(value, mesh, (given,))
    if wanted is not None and value.placements != (wanted,):
        value = value.redistribute(placements=(wanted,))
    return value


class _Linear(ParallelStyle):
    """What the two styles of linear layers and embeddings share."""

    _inside: Placement  # how the module wants its input
    _cut: dict[type, dict[str, Placement]]

    def __init__(self, given: Placement, out: Placement, use_local_output: bool) -> None:
        self.input_layouts, self.output_layouts = (given,), (out,)
        self.use_local_output = use_local_output

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        cut = next((cut for kind, cut in self._cut.items() if isinstance(module, kind)), None)
        if cut is None:
            kinds = " and ".join(f"nn.{kind.__name__}" for kind in self._cut)
            raise NotImplementedError(
                f"{type(self).__name__} is for {kinds}, and a {type(module).__name__} was given"
            )

        def partition(_: str, part: nn.Module, mesh: DeviceMesh) -> None:
            for name, parameter in list(part._parameters.items()):
                if parameter is not None:
                    made = distribute_tensor(
                        parameter.data, mesh, [cut[name]], src_data_rank=self.src_data_rank
                    )
                    part.register_parameter(name, nn.Parameter(made, parameter.requires_grad))

        inside = self._inside_of(module)

        def before(_: nn.Module, inputs: tuple[Any, ...], mesh: DeviceMesh) -> tuple[Any, ...]:
            return (_placed(inputs[0], mesh, self.input_layouts[0], inside), *inputs[1:])

        def after(_: nn.Module, output: Any, mesh: DeviceMesh) -> Any:
            output = _placed(output, mesh, self.output_layouts[0], self.output_layouts[0])
            return output.to_local() if self.use_local_output else output

        return distribute_module(module, device_mesh, partition, before, after)

    def _inside_of(self, module: nn.Module) -> Placement:
        return self._inside


class ColwiseParallel(_Linear):
    """Each process computes some of the outputs."""

    _inside = Replicate()
    _cut = {nn.Linear: {"weight": Shard(0), "bias": Shard(0)}, nn.Embedding: {"weight": Shard(1)}}

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        super().__init__(input_layouts or Replicate(), output_layouts or Shard(-1), use_local_output)


class RowwiseParallel(_Linear):
    """Each process takes some of the inputs, and their results are summed."""

    _inside = Shard(-1)
    _cut = {nn.Linear: {"weight": Shard(1), "bias": Replicate()}, nn.Embedding: {"weight": Shard(0)}}

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        super().__init__(input_layouts or Shard(-1), output_layouts or Replicate(), use_local_output)

    def _inside_of(self, module: nn.Module) -> Placement:
        return Replicate() if isinstance(module, nn.Embedding) else self._inside


class SequenceParallel(ParallelStyle):
    """Each process has some of the sequence: for norms and dropout, whose parameters stay whole."""

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_sharding = (Shard(sequence_dim),)
        self.use_local_output = use_local_output

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        cut = self.sequence_sharding[0]

        def before(_: nn.Module, inputs: tuple[Any, ...], mesh: DeviceMesh) -> tuple[Any, ...]:
            return (_placed(inputs[0], mesh, cut, cut), *inputs[1:])

        def after(_: nn.Module, output: Any, mesh: DeviceMesh) -> Any:
            return output.to_local() if self.use_local_output and isinstance(output, DTensor) else output

        return distribute_module(module, device_mesh, None, before, after)


Layouts = Placement | tuple[Placement | None, ...] | None


def _as_tuple(layouts: Layouts) -> tuple[Placement | None, ...]:
    return layouts if isinstance(layouts, tuple) else (layouts,)


class PrepareModuleInput(ParallelStyle):
    """What goes into a module is made to lie as it wants."""

    def __init__(
        self,
        *,
        input_layouts: Layouts = None,
        desired_input_layouts: Layouts = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_output: bool = False,
    ) -> None:
        self.input_layouts = None if input_layouts is None else _as_tuple(input_layouts)
        self.desired_input_layouts = (
            None if desired_input_layouts is None else _as_tuple(desired_input_layouts)
        )
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        self.use_local_output = use_local_output
        given, wanted = self.input_layouts, self.desired_input_layouts
        if given is not None and (wanted is None or len(given) != len(wanted)):
            raise AssertionError("input_layouts and desired_input_layouts should have same length!")

    def _prepared(
        self, value: Any, mesh: DeviceMesh, given: Placement | None, wanted: Placement | None
    ) -> Any:
        value = _placed(value, mesh, given, wanted)
        return value.to_local() if self.use_local_output and isinstance(value, DTensor) else value

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        def before(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
            if self.input_layouts is not None:
                if len(args) != len(self.input_layouts):
                    raise ValueError("module inputs and input_layouts should have same length!")
                assert self.desired_input_layouts is not None
                pairs = zip(args, self.input_layouts, self.desired_input_layouts, strict=True)
                args = tuple(
                    self._prepared(value, device_mesh, given, wanted) for value, given, wanted in pairs
                )
            for name, given in self.input_kwarg_layouts.items():
                if name in kwargs:
                    wanted = self.desired_input_kwarg_layouts.get(name)
                    kwargs[name] = self._prepared(kwargs[name], device_mesh, given, wanted)
            return args, kwargs

        module.register_forward_pre_hook(before, with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """What comes out of a module is made to lie as what follows wants."""

    def __init__(
        self, *, output_layouts: Layouts, desired_output_layouts: Layouts, use_local_output: bool = True
    ) -> None:
        self.output_layouts, self.desired_output_layouts = (
            _as_tuple(output_layouts),
            _as_tuple(desired_output_layouts),
        )
        self.use_local_output = use_local_output
        if len(self.output_layouts) != len(self.desired_output_layouts):
            raise AssertionError("output_layouts and desired_output_layouts should have same length!")

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        def after(_: nn.Module, __: Any, outputs: Any) -> Any:
            several = outputs if isinstance(outputs, tuple) else (outputs,)
            if len(several) != len(self.output_layouts):
                raise ValueError("module outputs and output_layouts should have same length!")
            made = []
            for value, given, wanted in zip(
                several, self.output_layouts, self.desired_output_layouts, strict=True
            ):
                value = _placed(value, device_mesh, given, wanted)
                made.append(
                    value.to_local() if self.use_local_output and isinstance(value, DTensor) else value
                )
            return tuple(made) if isinstance(outputs, tuple) else made[0]

        module.register_forward_hook(after)
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """Both: the arguments of the two, where ``use_local_input`` says how the module gets its inputs."""

    def __init__(
        self,
        *,
        output_layouts: Layouts,
        desired_output_layouts: Layouts,
        use_local_input: bool = False,
        use_local_output: bool = True,
        **inputs: Any,
    ) -> None:
        self.prepare_module_input = PrepareModuleInput(**inputs, use_local_output=use_local_input)
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts,
            desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)
