"""``torch.cuda.streams``: the classes of ``torch.cuda`` about streams."""

from . import Event as Event
from . import ExternalStream as ExternalStream
from . import Stream as Stream
