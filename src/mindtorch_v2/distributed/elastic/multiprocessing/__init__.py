"""Processes of one machine that run one program together."""

from .api import SignalException as SignalException
from .errors import ChildFailedError as ChildFailedError
from .errors import ProcessFailure as ProcessFailure
from .errors import record as record
from .logs import DefaultLogsSpecs as DefaultLogsSpecs
from .logs import LogsDest as LogsDest
from .logs import LogsSpecs as LogsSpecs
from .logs import Std as Std
from .logs import to_map as to_map
from .processes import PContext as PContext
from .processes import RunProcsResult as RunProcsResult
from .processes import start_processes as start_processes
