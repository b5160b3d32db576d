"""The optimizers with ``foreach=True``, under the names older programs import."""

from __future__ import annotations

import functools
from typing import Any

from mindtorch_v2 import optim


def _with_foreach(cls: type[Any]) -> type[Any]:
    """A subclass whose ``foreach`` is True."""

    return type(cls.__name__, (cls,), {"__init__": functools.partialmethod(cls.__init__, foreach=True)})


Adam = _with_foreach(optim.Adam)
AdamW = _with_foreach(optim.AdamW)
NAdam = _with_foreach(optim.NAdam)
SGD = _with_foreach(optim.SGD)
RAdam = _with_foreach(optim.RAdam)
RMSprop = _with_foreach(optim.RMSprop)
Rprop = _with_foreach(optim.Rprop)
ASGD = _with_foreach(optim.ASGD)
Adamax = _with_foreach(optim.Adamax)
Adadelta = _with_foreach(optim.Adadelta)
Adagrad = _with_foreach(optim.Adagrad)
