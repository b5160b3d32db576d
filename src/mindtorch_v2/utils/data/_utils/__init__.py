"""The parts of the DataLoader."""

from ...._absent import names_of
from ...._utils import ExceptionWrapper as ExceptionWrapper
from . import collate as collate
from . import fetch as fetch
from . import pin_memory as pin_memory
from . import worker as worker
from .status import MP_STATUS_CHECK_INTERVAL as MP_STATUS_CHECK_INTERVAL

HAS_NUMPY = True  # it is required

__getattr__ = names_of(__name__)
