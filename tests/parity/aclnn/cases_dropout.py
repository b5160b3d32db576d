"""Dropout and its masks."""

import torch

from .harness import FLOATS, FLOATS_AND_DOUBLE, OUT, Check, case
from .reference import exact, packed_bits

NOTHING = torch.empty(0)


def _share_of_ones(count, low, high):
    def check(mask):
        bits = (mask[:, None] >> torch.arange(8)) & 1
        assert low < bits.flatten()[:count].float().mean() < high
        assert not bits.flatten()[count:].any(), "bits beyond the elements are not 0"

    return check


@case(
    "aclnnDropoutGenMask",
    "aclnnDropoutGenMaskV2",
    "aclnnDropoutGenMaskV2Tensor",
    layouts=("dense",),
    dtypes=FLOATS,
)
def a_bit_for_each_element(make, operator):
    for p, low, high in ((0.3, 0.65, 0.75), (0.0, 0.999, 1.001), (1.0, -0.001, 0.001)):
        mask = Check((512,), torch.uint8, _share_of_ones(4000, low, high))
        if operator.endswith("Tensor"):
            seed = [torch.tensor([7]), torch.tensor([3]), 1]
        else:
            seed = [7, 3]
        kind = [make.dtype] if "V2" in operator else []
        yield [[40, 100], p, *seed, *kind, mask], NOTHING


@case("aclnnDropoutDoMask", "aclnnDropoutBackward", "aclnnDropoutV3Grad", dtypes=FLOATS_AND_DOUBLE)
def a_mask_decides_what_is_kept(make, operator):
    x, kept = make(7, 9), make(7, 9, dtype=torch.bool)
    for p in (0.0, 0.25, 1.0):
        keep = torch.ones_like(kept) if p == 0 else kept & (p < 1)
        wanted = exact(lambda x, k=keep, p=p: x * k / (1 - p if p < 1 else 1), x, dtype=make.dtype)
        factor = p if operator == "aclnnDropoutDoMask" else 0.0 if p == 1 else 1 / (1 - p)
        yield [x, packed_bits(kept), factor, OUT], wanted


@case("aclnnDropout", "aclnnDropoutV3", "aclnnDropoutV3Tensor", layouts=("dense",), dtypes=FLOATS)
def dropout_keeps_a_share_and_says_which(make, operator):
    x = torch.ones(40, 100, dtype=make.dtype)

    def kept_are_scaled(out):
        assert set(out.unique().tolist()) == {0.0, 2.0}
        assert 0.45 < (out != 0).double().mean() < 0.55

    mask = Check((512,), torch.uint8, _share_of_ones(4000, 0.45, 0.55))
    out = Check((40, 100), make.dtype, kept_are_scaled)
    if operator == "aclnnDropout":
        return [x, 0.5, True, 7, 3, out, mask], (NOTHING, NOTHING)
    if operator.endswith("Tensor"):
        return [x, None, 0.5, torch.tensor([7]), torch.tensor([3]), 1, out, mask], (NOTHING, NOTHING)
    return [x, None, 0.5, 7, 3, out, mask], (NOTHING, NOTHING)
