"""``torch.cuda.random``: the names of ``torch.cuda`` about random numbers."""

from ._absent import get_rng_state as get_rng_state
from ._absent import get_rng_state_all as get_rng_state_all
from ._absent import initial_seed as initial_seed
from ._absent import manual_seed as manual_seed
from ._absent import manual_seed_all as manual_seed_all
from ._absent import seed as seed
from ._absent import seed_all as seed_all
from ._absent import set_rng_state as set_rng_state
from ._absent import set_rng_state_all as set_rng_state_all
