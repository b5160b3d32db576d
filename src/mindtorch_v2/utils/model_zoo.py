"""``torch.utils.model_zoo``: the old name of :func:`torch.hub.load_state_dict_from_url`."""

from ..hub import (
    download_url_to_file as _download_url_to_file,  # noqa: F401 - packages import these two from here
)
from ..hub import load_state_dict_from_url as load_url
from ..hub import tqdm as tqdm

__all__ = ["load_url"]
