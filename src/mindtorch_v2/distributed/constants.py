"""``torch.distributed.constants``: how long processes wait for each other."""

from datetime import timedelta

default_pg_timeout = timedelta(minutes=30)
