"""``torch._ops``: the classes of operators, which packages ask ``isinstance`` of."""

from .. import ops as ops
from .._absent import names_of
from .._library.overloads import OpOverload, OpOverloadPacket
from ..ops import _Namespace as _OpNamespace

__all__ = ["OpOverload", "OpOverloadPacket", "_OpNamespace", "ops"]

__getattr__ = names_of(__name__)
