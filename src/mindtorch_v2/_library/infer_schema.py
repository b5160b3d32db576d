"""``infer_schema`` where PyTorch defines it; the public name is in ``library`` of ``torch``."""

from .schema import infer_schema as infer_schema
