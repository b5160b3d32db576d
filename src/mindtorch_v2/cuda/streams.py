"""``torch.cuda.streams``: the classes of ``torch.cuda`` about streams."""

from ._absent import Event as Event
from ._absent import ExternalStream as ExternalStream
from ._absent import Stream as Stream
