"""``torch.distributed.constants``: how long processes wait for each other."""

from datetime import timedelta

__all__ = ["default_pg_nccl_timeout", "default_pg_timeout"]

default_pg_timeout = timedelta(minutes=30)
default_pg_nccl_timeout = default_pg_timeout  # groups over NCCL wait as long as others do
