"""Neural networks: modules, their parameters, and the functions they call."""

from . import functional as functional
from . import init as init
from . import modules as modules
from . import parameter as parameter
from . import utils as utils
from .modules import *  # noqa: F403
from .modules import LinearCrossEntropyOptions as LinearCrossEntropyOptions
from .modules import Module as Module
from .parameter import Buffer as Buffer
from .parameter import Parameter as Parameter
from .parameter import UninitializedBuffer as UninitializedBuffer
from .parameter import UninitializedParameter as UninitializedParameter
