"""``torch.cuda.random``: the names of ``torch.cuda`` about random numbers."""

from ._chosen import names

get_rng_state = names.get_rng_state
get_rng_state_all = names.get_rng_state_all
initial_seed = names.initial_seed
manual_seed = names.manual_seed
manual_seed_all = names.manual_seed_all
seed = names.seed
seed_all = names.seed_all
set_rng_state = names.set_rng_state
set_rng_state_all = names.set_rng_state_all
