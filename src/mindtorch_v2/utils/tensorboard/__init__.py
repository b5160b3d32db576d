"""``torch.utils.tensorboard``: what a training reports, for the package ``tensorboard``."""

import tensorboard as _tensorboard  # noqa: F401 - says at once that it is missing, as PyTorch does
from tensorboard.summary.writer.record_writer import RecordWriter

from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
