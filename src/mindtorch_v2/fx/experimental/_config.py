"""``torch.fx.experimental._config``: settings of symbolic shapes, which are not in this library; none is read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

translation_validation = False
translation_validation_timeout = 600000
print_specializations = False
use_duck_shape = True
meta_nonzero_assume_all_nonzero = False
backed_size_oblivious = False
skip_dtype_check_in_meta_registrations = False


@contextmanager
def patch(changes: dict[str, Any] | str | None = None, value: Any = None, **more: Any) -> Iterator[None]:
    """Inside, settings have other values: a dict, a name and its value, or keywords."""
    module = sys.modules[__name__]
    wanted = {changes: value} if isinstance(changes, str) else {**(changes or {}), **more}
    before = {name: getattr(module, name) for name in wanted}
    try:
        for name, setting in wanted.items():
            setattr(module, name, setting)
        yield
    finally:
        for name, setting in before.items():
            setattr(module, name, setting)
