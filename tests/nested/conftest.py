import pytest


@pytest.fixture(params=["cpu", "npu"])
def device(request):
    return request.param
