"""What programs for Huawei's ``torch_npu`` import: fused operators of the NPU by the names they have there.

Under ``mindtorch run`` this is ``import torch_npu``. Only what works is here; a name that is missing raises
AttributeError. Operators that PyTorch has too are PyTorch's.
"""

from __future__ import annotations

from typing import Any

from .. import npu as npu
from ..version import __version__ as __version__
from . import optim as optim
from . import profiler as profiler
from ._attention import npu_fusion_attention as npu_fusion_attention
from ._fused import npu_add_rms_norm as npu_add_rms_norm
from ._fused import npu_bmmV2 as npu_bmmV2
from ._fused import npu_confusion_transpose as npu_confusion_transpose
from ._fused import npu_dtype_cast as npu_dtype_cast
from ._fused import npu_fast_gelu as npu_fast_gelu
from ._fused import npu_format_cast as npu_format_cast
from ._fused import npu_geglu as npu_geglu
from ._fused import npu_gelu as npu_gelu
from ._fused import npu_linear as npu_linear
from ._fused import npu_mish as npu_mish
from ._fused import npu_rms_norm as npu_rms_norm
from ._fused import npu_rotary_mul as npu_rotary_mul
from ._fused import npu_scaled_masked_softmax as npu_scaled_masked_softmax
from ._fused import npu_silu as npu_silu
from ._fused import npu_swiglu as npu_swiglu
from ._fused import npu_transpose as npu_transpose

fast_gelu = npu_fast_gelu


def get_npu_format(self: Any) -> int:
    """The storage format of a tensor: 2, "ND", which all have here."""
    return 2


def __getattr__(name: str) -> Any:
    if name.startswith("npu_"):
        raise AttributeError(
            f"module 'torch_npu' has no attribute '{name}'. Every ACLNN operator can be called by name: "
            "mindtorch_v2._backends.npu.aclnn.call"
        )
    raise AttributeError(f"module 'torch_npu' has no attribute '{name}'")
