"""The devices that rows of the table have cells for. They are declared here once; everything else loops over them."""

from __future__ import annotations

from dataclasses import dataclass

from .aclnn_cells import Aclnn
from .cells import Library
from .cuda_cells import Cuda


@dataclass(frozen=True)
class Device:
    """``name`` is its key in a row, the folder in csrc/backends, its namespace in mt:: and its type in torch.device."""

    name: str
    slot: str  # of DeviceType
    autocast: str  # the key of its lists in autocast.yaml
    vendor: Library | None = None  # whose functions its cells call; the CPU's cells are functions of our own
    native_modules: tuple[str, ...] = ()  # of _C
    functors: bool = False  # it compiles the functors of rows that name no cell of its own

    @property
    def cell(self) -> str:
        """Its cell of a table, in C++."""
        return f"cell[int(DeviceType::{self.slot})]"


HOST = Device("cpu", slot="cpu", autocast="cpu")
ACCELERATORS = (
    Device(
        "npu", slot="accelerator", autocast="accelerator", vendor=Aclnn(), native_modules=("_acl", "_npu")
    ),
    Device(
        "cuda",
        slot="second_accelerator",
        autocast="accelerator",
        vendor=Cuda(),
        native_modules=("_cuda",),
        functors=True,
    ),
)
DEVICES = (HOST, *ACCELERATORS)
CELLS = tuple(device.name for device in ACCELERATORS)  # keys of a row beside `cpu`
COLUMNS = (*(device.name for device in DEVICES), "meta")  # of the support matrix
