"""The first of long rows on a GPU, which are chosen before they are sorted, beside the host's stable sort."""

import pytest

import mindtorch_v2 as torch

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8)


@pytest.mark.parametrize("shape", [(3, 2049), (1, 50257), (40, 5000), (2, 600_000), (20, 600_000)])
@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_values_and_indices_are_those_of_the_sorted_rows(dtype, largest, shape):
    torch.manual_seed(0)
    x = (torch.randn(shape) * 50).abs().to(dtype)
    wanted = torch.sort(x, dim=-1, descending=largest, stable=True)
    for k in (1, 50, 2048, 2049):
        values, indices = torch.topk(x.cuda(), k, largest=largest)
        assert torch.equal(values.cpu(), wanted.values[..., :k])
        assert torch.equal(indices.cpu(), wanted.indices[..., :k])
    if not largest:
        values, indices = torch.kthvalue(x.cuda(), 50)
        assert torch.equal(values.cpu(), wanted.values[..., 49])
        assert torch.equal(indices.cpu(), wanted.indices[..., 49])


def test_not_a_number_is_largest_and_other_dimensions_may_be_asked():
    x = torch.randn(4000, 3)
    x[7, 1] = float("nan")
    values, indices = torch.topk(x.cuda(), 5, dim=0)
    wanted = torch.sort(x, dim=0, descending=True, stable=True)
    torch.testing.assert_close(values.cpu(), wanted.values[:5], equal_nan=True)
    assert torch.equal(indices.cpu(), wanted.indices[:5])
