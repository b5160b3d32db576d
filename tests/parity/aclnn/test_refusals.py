"""What operators say to arguments that they cannot use: a code, and a message that names what is wrong."""

import pytest

import mindtorch_v2 as mt
from mindtorch_v2._backends.npu import aclnn

NULL, INVALID = "161001", "161002"


def tensor(*shape, dtype=mt.float32):
    return mt.ones(*shape, dtype=dtype, device="npu")


REFUSALS = {
    "a list is missing": ("aclnnForeachAbs", lambda: [None, [tensor(2)]], NULL, "x is NULL"),
    "a list is shorter than the other": (
        "aclnnForeachAddListV2",
        lambda: [[tensor(2), tensor(3)], [tensor(2)], 1, [tensor(2), tensor(3)]],
        INVALID,
        "'x2' has 1 entries, wanted 2",
    ),
    "there are fewer numbers than tensors": (
        "aclnnForeachMulScalarList",
        lambda: [[tensor(2), tensor(3)], [2.0], [tensor(2), tensor(3)]],
        INVALID,
        "'scalars' has 1 entries, wanted 2",
    ),
    "a result of a list has another shape": (
        "aclnnForeachExp",
        lambda: [[tensor(2)], [tensor(3)]],
        INVALID,
        "'x' has shape [2] but 'out' has [3]",
    ),
    "a list of a dtype without a kernel": (
        "aclnnForeachErf",
        lambda: [[tensor(2, dtype=mt.int32)], [tensor(2, dtype=mt.int32)]],
        INVALID,
        "\"erf\" not implemented for 'Int'",
    ),
    "an unknown rounding mode of a list": (
        "aclnnForeachRoundOffNumberV2",
        lambda: [[tensor(2)], 6, [tensor(2)]],
        INVALID,
        "roundMode is 6",
    ),
    "an unknown mode of division": (
        "aclnnDivMod",
        lambda: [tensor(2), tensor(2), 3, tensor(2)],
        INVALID,
        "mode is 3",
    ),
    "both limits are missing": (
        "aclnnClampTensor",
        lambda: [tensor(2), None, None, tensor(2)],
        INVALID,
        "both limits are NULL",
    ),
    "an approximation of gelu that nobody knows": (
        "aclnnGeluBackwardV2",
        lambda: [tensor(2), tensor(2), "fast", tensor(2)],
        INVALID,
        "approximate is 'fast'",
    ),
    "halves of an odd size": (
        "aclnnGlu",
        lambda: [tensor(2, 3), -1, tensor(2, 1)],
        INVALID,
        "wanted an even size along dim -1",
    ),
    "a weight per channel of the wrong length": (
        "aclnnPrelu",
        lambda: [tensor(2, 3), tensor(2), tensor(2, 3)],
        INVALID,
        "wanted one element or [3]",
    ),
    "a result of a wrong dtype": (
        "aclnnCumsum",
        lambda: [tensor(2), 0, mt.float16, tensor(2)],
        INVALID,
        "dtype is float16 but tensor 'out' is float32",
    ),
    "a dimension that is not there": (
        "aclnnProdDim",
        lambda: [tensor(2, 3), 2, False, mt.float32, tensor(2)],
        INVALID,
        "dim 2 is out of range",
    ),
    "the largest of no elements": (
        "aclnnAminmaxAll",
        lambda: [tensor(0), mt.empty((), device="npu"), mt.empty((), device="npu")],
        INVALID,
        "has no elements to choose from",
    ),
    "a histogram without bins": (
        "aclnnHistc",
        lambda: [tensor(3), 0, 0, 1, tensor(0)],
        INVALID,
        "bins is 0",
    ),
    "a diagonal of a vector": (
        "aclnnInplaceFillDiagonal",
        lambda: [tensor(3), 1, False],
        INVALID,
        "wanted at least 2 dimensions",
    ),
    "amsgrad without the largest squares": (
        "aclnnApplyAdamWV2",
        lambda: [
            tensor(2),
            tensor(2),
            tensor(2),
            None,
            tensor(2),
            tensor(1),
            0.1,
            0.9,
            0.99,
            0,
            1e-8,
            True,
            False,
        ],
        INVALID,
        "amsgrad is set",
    ),
    "a step that is no number": (
        "aclnnApplyAdamWV2",
        lambda: [
            tensor(2),
            tensor(2),
            tensor(2),
            None,
            tensor(2),
            tensor(2),
            0.1,
            0.9,
            0.99,
            0,
            1e-8,
            False,
            False,
        ],
        INVALID,
        "tensor 'step' has shape [2], wanted one element",
    ),
    "a recurrent layer without a weight": (
        "aclnnGRU",
        lambda: _gru(weights=[tensor(6, 4), tensor(6, 2), tensor(6)]),
        INVALID,
        "'params' has 3 tensors, wanted 4 for 1 layers in 1 directions",
    ),
    "a recurrent layer with the weight of another": (
        "aclnnGRU",
        lambda: _gru(weights=[tensor(8, 4), tensor(8, 2), tensor(8), tensor(8)]),
        INVALID,
        "tensor 'params' has shape [8, 4], wanted [6, 4]",
    ),
    "a recurrent layer that trains without a place for its gates": (
        "aclnnGRU",
        lambda: _gru(train=True),
        NULL,
        "rOut",
    ),
    "more choices than experts": (
        "aclnnMoeGatingTopKSoftmax",
        lambda: [tensor(2, 4), None, 5, tensor(2, 5), _int(2, 5), _int(2, 5)],
        INVALID,
        "k is 5, wanted 1 to 4",
    ),
    "groups that do not divide the experts": (
        "aclnnMoeGatingTopK",
        lambda: [tensor(2, 4), None, 1, 1, 3, 0, 0, 0, False, 1.0, 1e-5, tensor(2, 1), _int(2, 1), None],
        INVALID,
        "groupCount is 3, which does not divide 4 experts",
    ),
    "a cache of other heads": (
        "aclnnScatterPaKvCache",
        lambda: [
            *(tensor(3, 2, 8), tensor(4, 4, 1, 8), _int(3), None, None, None, None, None),
            *("Norm", "None", None, None),
        ],
        INVALID,
        "tensor 'keyCacheRef' has shape [4, 4, 1, 8], wanted [blocks, block size, 2, 8]",
    ),
    "an unknown form of a cache": (
        "aclnnScatterPaKvCache",
        lambda: [
            *(tensor(3, 2, 8), tensor(4, 4, 2, 8), _int(3), None, None, None, None, None),
            *("PA_XY", "None", None, None),
        ],
        INVALID,
        "cacheMode is 'PA_XY'",
    ),
}


def _int(*shape):
    return tensor(*shape, dtype=mt.int32)


def _gru(weights=None, train=False):
    """One layer of two for three steps of two sequences."""
    weights = weights or [tensor(6, 4), tensor(6, 2), tensor(6), tensor(6)]
    results = [tensor(3, 2, 2), tensor(1, 2, 2), *[None] * 5]
    return [tensor(3, 2, 4), weights, None, None, True, 1, 0.0, train, False, False, *results]


@pytest.mark.parametrize("what", REFUSALS)
def test_an_operator_refuses_in_the_first_phase(what):
    operator, arguments, code, message = REFUSALS[what]
    with pytest.raises(RuntimeError) as raised:
        aclnn.call(operator, *arguments())
    assert code in str(raised.value)
    assert message in str(raised.value)


def test_a_value_without_a_place_fails_on_the_stream_and_is_reported_by_the_next_wait():
    counts = mt.zeros(3, dtype=mt.int64, device="npu")
    aclnn.call("aclnnBincount", mt.tensor([0, 5], device="npu"), None, 0, counts)
    with pytest.raises(RuntimeError, match="value 5 has no place in a result of size 3"):
        mt.npu.synchronize()
    aclnn.call("aclnnBincount", mt.tensor([0, 2], device="npu"), None, 0, counts)
    assert counts.cpu().tolist() == [1, 0, 1]


def test_lengths_that_rise_fail_on_the_stream():
    arguments = _gru()
    arguments[0], arguments[3] = tensor(6, 4), mt.tensor([2, 1, 2], device="npu")
    aclnn.call("aclnnGRU", *arguments)
    with pytest.raises(RuntimeError, match="step 2 has 2 sequences, wanted at most 1"):
        mt.npu.synchronize()
