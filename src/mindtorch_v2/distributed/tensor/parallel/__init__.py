"""Modules in parts: the styles of tensor and sequence parallelism."""

from ...._absent import names_of
from .api import parallelize_module as parallelize_module
from .loss import loss_parallel as loss_parallel
from .style import ColwiseParallel as ColwiseParallel
from .style import ParallelStyle as ParallelStyle
from .style import PrepareModuleInput as PrepareModuleInput
from .style import PrepareModuleInputOutput as PrepareModuleInputOutput
from .style import PrepareModuleOutput as PrepareModuleOutput
from .style import RowwiseParallel as RowwiseParallel
from .style import SequenceParallel as SequenceParallel

__getattr__ = names_of(__name__)
