"""An older name."""

from ..tensor.experimental import implicit_replication as implicit_replication
