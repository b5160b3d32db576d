"""``torch.cuda.amp.grad_scaler``: ``torch.amp.GradScaler("cuda")`` under an older name."""

from ...amp._older_names import OlderGradScaler
from ...amp.grad_scaler import OptState as OptState

__all__ = ["GradScaler", "OptState"]


class GradScaler(OlderGradScaler):
    """torch.amp.GradScaler("cuda", ...)."""

    _bound_to = "cuda"
