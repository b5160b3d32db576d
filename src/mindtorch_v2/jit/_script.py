"""``torch.jit._script``: where PyTorch keeps them; some packages look here."""

from .._absent import names_of
from . import RecursiveScriptModule as RecursiveScriptModule
from . import ScriptFunction as ScriptFunction
from . import ScriptModule as ScriptModule
from . import script as script
from . import script_method as script_method

__getattr__ = names_of(__name__)
