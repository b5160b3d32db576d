"""``torch.utils.benchmark``: how long a statement takes, measured often enough to mean something."""

from ._measurement import Measurement as Measurement
from ._measurement import TaskSpec as TaskSpec
from ._measurement import select_unit as select_unit
from ._timer import Language as Language
from ._timer import Timer as Timer
from ._timer import timer as timer
