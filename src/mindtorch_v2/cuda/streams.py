"""``torch.cuda.streams``: the classes of ``torch.cuda`` about streams."""

from ._chosen import names

Event = names.Event
ExternalStream = names.ExternalStream
Stream = names.Stream
