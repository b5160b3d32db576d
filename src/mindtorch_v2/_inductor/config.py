"""``torch._inductor.config``: settings of the compiler that is not here."""

from types import SimpleNamespace

from ..compiler._settings import patch_of

cpp, triton = SimpleNamespace(), SimpleNamespace(cudagraphs=False)
force_disable_caches = freezing = max_autotune = max_autotune_gemm = False
coordinate_descent_tuning = fx_graph_cache = False

patch = patch_of(__name__)
