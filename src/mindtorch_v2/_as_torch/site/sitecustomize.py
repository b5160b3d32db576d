"""Python imports this at its start. Installs the finder, then runs the sitecustomize it stands in front of."""

import importlib.machinery
import importlib.util
import os
import sys

import mindtorch_as_torch  # type: ignore[import-not-found] # on the path when this runs

mindtorch_as_torch.install()

_here = os.path.dirname(os.path.abspath(__file__))
_spec = importlib.machinery.PathFinder.find_spec(
    "sitecustomize", [folder for folder in sys.path if os.path.abspath(folder) != _here]
)
if _spec is not None and _spec.loader is not None:
    _module = importlib.util.module_from_spec(_spec)
    sys.modules["sitecustomize"] = _module
    _spec.loader.exec_module(_module)
