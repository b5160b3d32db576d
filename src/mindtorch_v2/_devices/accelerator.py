"""What the library asks of a kind of device besides the CPU.

Note [A kind of device]
Everything outside a device's own packages reaches it through an :class:`Accelerator`, which ``registry.py`` has by the
name that ``torch.device`` gives it. Most is in its module, ``torch.<type>``, which has the functions that PyTorch asks
of one (``is_available``, ``current_device``, ``manual_seed_all``, ``Stream``, …). The rest, which no module of
PyTorch's has, is here: a device derives a class where the defaults are not its own, and registers an object of it at
the end of its module. A module that a program registers with ``torch._register_device_module`` gets the defaults.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import _C


class Accelerator:
    """A kind of device: its name, its module, and what is said of it where PyTorch's own devices have words."""

    # Packages of its vendor that programs import beside torch. They lie in this one, and are loaded when asked for.
    packages: Sequence[str] = ()
    # The module in this package with its part of the command line: Note [Commands of devices] in _cli.
    command_line: str | None = None
    # Its libraries of collectives: for each name of a backend of torch.distributed, the module in this package that has
    # `is_available()` and `make_engine(place)`.
    collectives: Mapping[str, str] = {}

    # --- files: what programs of other builds wrote into them ---
    # Modules that kept what is elsewhere here, and which files name.
    moved_modules: Mapping[str, str] = {}
    # Functions that files may call although nobody vouches for them, by the name in the file.
    file_functions: Mapping[str, Callable[..., Any]] = {}

    steps_in_one_kernel = (
        False  # those of optimizers over lists of parameters, with counts of steps from the host
    )
    # --- traces ---
    runtime = ""  # what the calls in them are functions of; "" is the type
    known_to_analysers = False  # PyTorch's own names for what happens are its own names, too
    # How other runtimes name the same calls, for analysers that look for those: {"name of a runtime": {call: name}}.
    calls_elsewhere: Mapping[str, Mapping[str, str]] = {}
    # And what devices do, where an analyser knows it by its name.
    tasks_elsewhere: Mapping[str, Mapping[str, str]] = {}

    def __init__(self, type: str, module: Any, current_index: Callable[[], int] | None = None) -> None:
        self.type = type
        self.module = module
        self.number = 0  # of its type, as PyTorch numbers them; the registry gives it
        # The index of this thread's current device, without a look at whether there is one.
        self.current_index = current_index or (lambda: int(module.current_device()))

    def renamed(self, type: str) -> Accelerator:
        """The same device under another name."""
        found = copy.copy(self)
        found.type = type
        return found

    @property
    def title(self) -> str:
        """As in "Self TITLE time total"."""
        return self.type.upper()

    @property
    def noun(self) -> str:
        """As in "cannot send NOUN storage"."""
        return f"{'an' if self.title[0] in 'AEFHILMNORSX' else 'a'} {self.title}"

    def seed_all(self, seed: int) -> None:
        """Seeds the generators of all its devices."""
        if not (hasattr(self.module, "_is_in_bad_fork") and hasattr(self.module, "manual_seed_all")):
            warnings.warn(
                f"Set seed for `{self.type}` device does not take effect, please add API's `_is_in_bad_fork` and "
                f"`manual_seed_all` to `{self.type}` device module.",
                UserWarning,
                stacklevel=3,
            )
        elif not self.module._is_in_bad_fork():
            self.module.manual_seed_all(seed)

    def lower_dtypes(self) -> Sequence[Any]:
        """The dtypes that autocast may compute in."""
        try:
            found: Sequence[Any] = self.module.get_amp_supported_dtype()
        except AttributeError:
            raise AssertionError(
                f"Tried to use AMP with the `{self.type}` backend, but the backend has not registered a module or  the "
                "module miss some necessary funcs. The backend should register a module by "
                "`torch._register_device_module`, and the module must have these funcs: \n"
                "`get_amp_supported_dtype() -> List[torch.dtype]`. \n"
                "But the func `get_amp_supported_dtype` is missing. \n"
            ) from None
        return found

    def check_saved(self, name: str) -> None:
        """Refuses a tensor of a file whose metadata has a name that means something on this device only."""

    def watched_devices(self) -> list[Any]:
        """The devices whose memory a recording watches: those in use, and the first one, which a program may use for
        the first time while it is recorded. Making an allocator touches no device."""
        if (
            self.type not in _C._accelerator_types()
        ):  # a module that a program registered, and nothing behind it
            return []
        indices = range(self.module.device_count()) if self.module.is_initialized() else (0,)
        return [_C.device(self.type, index) for index in indices]

    def trace_properties(self, number: int, device: Any) -> dict[str, Any]:
        """What a trace says of a device, in Kineto's words. ``number`` is what its events have."""
        name, total_memory, processors = _C._device_properties(device)
        return {"id": number, "name": name, "totalGlobalMem": total_memory, "numSms": processors}

    def complete(self, package: Any) -> None:
        """Called once the package is complete, with it: for names of its module that are the package's."""
