"""``torch._library.infer_schema``: where PyTorch defines what ``torch.library.infer_schema`` is."""

from .schema import infer_schema as infer_schema
