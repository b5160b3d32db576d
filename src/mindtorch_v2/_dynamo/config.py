"""``torch._dynamo.config``: settings of the compiler that is not here."""

from ..compiler._settings import patch_of

accumulated_cache_size_limit = accumulated_recompile_limit = 256
cache_size_limit = recompile_limit = 8
disable = suppress_errors = verbose = False

patch = patch_of(__name__)
