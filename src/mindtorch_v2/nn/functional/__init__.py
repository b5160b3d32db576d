"""The functions behind the modules: one operator where there is one, the rest composed. Files have the names of the
areas of `ops/` whose operators they call."""

from ..._absent import names_of
from .. import _reduction as _Reduction  # noqa: F401 - packages ask it for the numbers of reductions
from .activation import *  # noqa: F403
from .activation import _threshold as _threshold
from .attention import *  # noqa: F403
from .attention import _canonical_mask as _canonical_mask
from .attention import _in_projection as _in_projection
from .attention import _in_projection_packed as _in_projection_packed
from .attention import _mha_shape_check as _mha_shape_check
from .attention import _none_or_dtype as _none_or_dtype
from .conv import *  # noqa: F403
from .distance import *  # noqa: F403
from .dropout import *  # noqa: F403
from .embedding import *  # noqa: F403
from .loss.classes import *  # noqa: F403
from .loss.embeddings import *  # noqa: F403
from .loss.values import *  # noqa: F403
from .matmul import *  # noqa: F403
from .normalization import *  # noqa: F403
from .padding import *  # noqa: F403
from .pool import *  # noqa: F403
from .resample import *  # noqa: F403
from .shape import *  # noqa: F403
from .softmax import *  # noqa: F403
from .unary import *  # noqa: F403

for _name, _function in list(globals().items()):
    # Pickled functions are found under the public name, whichever file they are written in.
    if getattr(_function, "__module__", "").startswith(__name__ + "."):
        _function.__module__ = __name__
del _name, _function

__getattr__ = names_of(__name__)
