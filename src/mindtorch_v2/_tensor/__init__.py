"""The parts of Tensor that are written in Python: shared memory, printing, pickling, hooks.

Number slots and operators are native and must stay so: one Python dunder among them would slow down all of
them. Type checkers know the methods added here from codegen/stub_native.pyi.
"""

from __future__ import annotations

from .._C import Tensor as Tensor
from . import conversions as conversions
from . import methods as methods
from . import queries as queries
from . import rare as rare
from . import sparse as sparse
from . import wrappers as wrappers
from .copying import _rebuild_from_type_v2 as _rebuild_from_type_v2
