"""Layers that are given what does not fit: an error that says what was got and wanted, before anything runs."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import aclnn

FAR = 2147483647


def made(*shape, dtype=torch.float32):
    return torch.zeros(shape, dtype=dtype, device="npu")


def attention(query, key, value, *, heads=4, layout="BNSD", keep=1.0, mode=0):
    statistics = made(2, 4, 6, 8), made(2, 4, 6, 8)
    options = [None, 1.0, keep, FAR, FAR, heads, layout, 0, mode]
    results = [*statistics, made(0), made(2, 4, 6, 8)]
    aclnn.call("aclnnFlashAttentionScore", query, key, value, None, None, None, None, *options, *results)


CALLS = {
    "has 5 channels, the weight": lambda: aclnn.call(
        "aclnnConvolution", made(2, 5, 7, 7), made(6, 4, 3, 3), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1,
        made(2, 6, 5, 5), 0,
    ),
    "tensor 'output' has shape [2, 6, 4, 4], wanted [2, 6, 5, 5]": lambda: aclnn.call(
        "aclnnConvolution", made(2, 4, 7, 7), made(6, 4, 3, 3), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1,
        made(2, 6, 4, 4), 0,
    ),
    "'stride' holds 0, wanted 1": lambda: aclnn.call(
        "aclnnAvgPool2d", made(1, 1, 4, 4), [2, 2], [0, 1], [0, 0], False, True, 0, 0, made(1, 1, 2, 2)
    ),
    "wanted at most half of the kernel's 2": lambda: aclnn.call(
        "aclnnAvgPool2d", made(1, 1, 4, 4), [2, 2], [1, 1], [2, 0], False, True, 0, 0, made(1, 1, 2, 2)
    ),
    "'runningMean' is NULL": lambda: aclnn.call(
        "aclnnBatchNorm", made(2, 3, 4), None, None, None, None, False, 0.1, 1e-5, made(2, 3, 4), None, None
    ),
    "wanted an even number": lambda: aclnn.call("aclnnConstantPadNd", made(4), [1], 0.0, made(5)),
    "wanted 64 for the bits of 512 elements": lambda: aclnn.call(
        "aclnnDropoutDoMask", made(512), made(48, dtype=torch.uint8), 0.5, made(512)
    ),
    "do not fit each other": lambda: attention(made(2, 4, 6, 8), made(2, 3, 9, 8), made(2, 3, 9, 8)),
    "in layout BNSD, wanted 3 heads": lambda: attention(made(2, 4, 6, 8), made(2, 2, 9, 8), made(2, 2, 9, 8), heads=3),
    "the layout is 'NHWC'": lambda: attention(made(2, 4, 6, 8), made(2, 2, 9, 8), made(2, 2, 9, 8), layout="NHWC"),
    "so dropMask must not be NULL": lambda: attention(made(2, 4, 6, 8), made(2, 2, 9, 8), made(2, 2, 9, 8), keep=0.5),
    "sparseMode 1 needs attenMask": lambda: attention(made(2, 4, 6, 8), made(2, 2, 9, 8), made(2, 2, 9, 8), mode=1),
}  # fmt: skip


@pytest.mark.parametrize("message", CALLS)
def test_a_layer_says_what_does_not_fit(message):
    with pytest.raises(RuntimeError) as error:
        CALLS[message]()
    assert message in str(error.value)


def test_an_index_beyond_the_table_is_reported_when_the_stream_is_waited_for():
    indices = torch.tensor([0, 7], device="npu")
    aclnn.call("aclnnEmbedding", made(5, 4), indices, made(2, 4))
    with pytest.raises(RuntimeError, match="index 7 is out of range for a table of 5 rows"):
        torch.npu.synchronize()
