"""``torch.cuda.amp``: older names of ``torch.amp`` for CUDA. As in PyTorch without CUDA they are switched off."""

from .autocast_mode import autocast, custom_bwd, custom_fwd
from .common import amp_definitely_not_available
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "amp_definitely_not_available", "autocast", "custom_bwd", "custom_fwd"]
