"""Fixtures of tests on the NPU."""

import pytest

import mindtorch_v2 as torch


@pytest.fixture
def nothing_is_left_capturing():
    yield
    assert not torch._C._DeviceGraph.any_is_captured()
    assert not torch.npu.is_current_stream_capturing()
