"""``OpOverload.tags`` beside PyTorch's, for every operator that both have."""

import pytest
import torch

import mindtorch_v2

# What works element by element although PyTorch does not say so.
_BEYOND = {
    "pointwise": set(
        (
            "_prelu_kernel _standard_gamma_grad complex copy_ elu_backward fill floor_divide floor_divide_ "
            "hardshrink_backward hardsigmoid_backward hardswish hardswish_ hardswish_backward hardtanh_backward "
            "isclose isreal leaky_relu_backward log_sigmoid masked_fill masked_fill_ mish_backward rsub "
            "softplus_backward softshrink_backward special_ndtr where "
        ).split()
    )
}
# Recurrent layers and attention draw numbers only for dropout, which other operators do for them here.
_DRAWN_ELSEWHERE = (
    "gru",
    "lstm",
    "rnn_",
    "scaled_dot_product_",
    "_scaled_dot_product_",
    "_flash_attention",
    "_efficient_attention",
)


# PyTorch's modules list only operators that somebody asked for before.
_NAMES = sorted(
    {found.name.removeprefix("aten::") for found in torch._C._jit_get_all_schemas() if "aten::" in found.name}
)


def overloads(library):
    for name in _NAMES:
        packet = getattr(library.ops.aten, name, None) if not name.startswith("__") else None
        for overload in packet.overloads() if hasattr(packet, "overloads") else ():
            yield name, overload, getattr(packet, overload)


def tagged(library, tag):
    wanted = getattr(library.Tag, tag)
    return {
        (name, overload) for name, overload, op in overloads(library) if wanted in getattr(op, "tags", ())
    }


@pytest.fixture(scope="module")
def known():
    theirs = {(name, overload) for name, overload, _ in overloads(torch)}
    # Other names of operators (absolute_) are functions here and have no overloads of their own.
    return theirs & {
        (name, overload)
        for name, overload, op in overloads(mindtorch_v2)
        if type(op).__name__ == "OpOverload"
    }


@pytest.mark.parametrize(
    "tag",
    [
        "pointwise",
        "reduction",
        "inplace",
        "out",
        "dynamic_output_shape",
        "inplace_view",
        "nondeterministic_seeded",
    ],
)
def test_operators_have_the_tags_that_pytorchs_have(tag, known):
    ours, theirs = tagged(mindtorch_v2, tag) & known, tagged(torch, tag) & known
    missing = theirs - ours
    if tag == "nondeterministic_seeded":
        missing = {each for each in missing if not each[0].startswith(_DRAWN_ELSEWHERE)}
    assert not missing
    # PyTorch forgets some variants of an operator that it tags.
    said = {name.removesuffix("_") for name, _ in theirs} | _BEYOND.get(tag, set())
    assert not {
        each for each in ours - theirs if each[0] not in said and each[0].removesuffix("_") not in said
    }


def test_tags_have_pytorchs_names_and_numbers():
    theirs = {name: int(tag) for name, tag in torch.Tag.__members__.items()}
    assert {tag.name: tag.value for tag in mindtorch_v2.Tag} == theirs
