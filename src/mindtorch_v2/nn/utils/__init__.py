"""What programs do with modules and parameters besides running them."""

from . import rnn as rnn
