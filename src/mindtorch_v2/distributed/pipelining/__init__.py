"""``torch.distributed.pipelining``: a model in stages on several processes, a batch in microbatches.

A model is cut by hand (``PipelineStage`` in ``stage.py``) or from its graph (``pipeline`` in ``_IR.py``). A schedule
(``schedules.py``) runs the actions of ``_actions.py``, backward passes perhaps in halves (``_halves.py``); what passes
between stages is the business of ``_exchange.py``.
"""

from ..._absent import names_of
from ._IR import Pipe, SplitPoint, pipe_split, pipeline
from .schedules import (
    Schedule1F1B,
    ScheduleDualPipeV,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS,
    ScheduleZBVZeroBubble,
)
from .schedules import _ScheduleForwardOnly as _ScheduleForwardOnly
from .stage import PipelineStage, build_stage

__all__ = [
    "Pipe", "PipelineStage", "Schedule1F1B", "ScheduleDualPipeV", "ScheduleGPipe", "ScheduleInterleaved1F1B",
    "ScheduleInterleavedZeroBubble", "ScheduleLoopedBFS", "ScheduleZBVZeroBubble", "SplitPoint", "build_stage",
    "pipe_split", "pipeline",
]  # fmt: skip

__getattr__ = names_of(__name__)
