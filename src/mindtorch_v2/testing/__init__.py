"""``torch.testing``: comparing results, and making inputs."""

from .._absent import names_of
from ._comparison import assert_close as assert_close
from ._creation import make_tensor as make_tensor

__all__ = ["assert_close", "make_tensor"]


__getattr__ = names_of(__name__)
