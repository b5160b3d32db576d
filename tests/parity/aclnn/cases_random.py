"""Random numbers: not PyTorch's, but of its distributions, and the same for the same seed and offset."""

import math

import torch

from .harness import FLOATS_AND_DOUBLE, INTEGERS, OUT, Check, case

DRAWS = (4096,)
SEED, OFFSET = 20, 3


def moments(mean, deviation, low=-math.inf, high=math.inf):
    """Checks mean and deviation of what was drawn, and its limits."""

    def check(drawn):
        numbers = drawn.double().flatten()
        assert numbers.min() >= low, f"{numbers.min()} is below {low}"
        assert numbers.max() <= high, f"{numbers.max()} is above {high}"
        error = 6 * deviation / math.sqrt(numbers.numel())  # six standard errors
        assert abs(numbers.mean() - mean) <= error + 4e-3 * abs(mean), f"mean {numbers.mean()}, wanted {mean}"
        assert abs(numbers.std() - deviation) <= 0.15 * deviation + 1e-9, (
            f"deviation {numbers.std()}, wanted {deviation}"
        )

    return check


def drawn(make, check, shape=DRAWS):
    return Check(shape, make.dtype, check)


def state(operator):
    """The seed and the offset: tensors and an offset more, for the operators that take them so."""
    return (
        [torch.tensor([SEED]), torch.tensor([OFFSET]), 5] if operator.endswith("Tensor") else [SEED, OFFSET]
    )


@case("aclnnInplaceUniform", "aclnnInplaceUniformTensor", dtypes=FLOATS_AND_DOUBLE)
def uniform_numbers(make, operator):
    return [drawn(make, moments(1.0, 2 / math.sqrt(3), -1, 3)), -1.0, 3.0, *state(operator)], None


@case("aclnnInplaceNormal", "aclnnInplaceNormalTensor", dtypes=FLOATS_AND_DOUBLE)
def normal_numbers(make, operator):
    return [drawn(make, moments(1.0, 2.0)), 1.0, 2.0, *state(operator)], None


@case("aclnnNormalFloatFloat", dtypes=FLOATS_AND_DOUBLE)
def fresh_normal_numbers(make):
    return [-1.0, 0.5, SEED, OFFSET, drawn(make, moments(-1.0, 0.5))], None


@case("aclnnNormalTensorFloat", "aclnnNormalFloatTensor", "aclnnNormalTensorTensor", dtypes=FLOATS_AND_DOUBLE)
def normal_numbers_around_tensors(make, operator):
    mean = torch.full(DRAWS, 2.0, dtype=make.dtype) if "NormalTensor" in operator else 2.0
    std = torch.full(DRAWS, 0.5, dtype=make.dtype) if not operator.endswith("Float") else 0.5
    return [mean, std, SEED, OFFSET, drawn(make, moments(2.0, 0.5))], None


@case("aclnnInplaceRandom", "aclnnInplaceRandomTensor", dtypes=(*FLOATS_AND_DOUBLE, *INTEGERS))
def whole_numbers_in_a_range(make, operator):
    check = moments(54.5, math.sqrt((10**2 - 1) / 12), 50, 59)
    return [drawn(make, check), 50, 60, *state(operator)], None


@case("aclnnInplaceRandomWithoutFromTo", "aclnnInplaceRandomWithoutFromToTensor", dtypes=INTEGERS)
def whole_numbers_of_the_whole_range(make, operator):
    most = float(torch.iinfo(make.dtype).max)
    return [drawn(make, moments(most / 2, most / math.sqrt(12), 0, most)), *state(operator)], None


@case("aclnnSimThreadExponential", dtypes=FLOATS_AND_DOUBLE)
def waiting_times(make):
    return [drawn(make, moments(0.5, 0.5, 0)), DRAWS[0], 2.0, SEED, OFFSET], None


@case("aclnnStatelessExponentialTensor", dtypes=FLOATS_AND_DOUBLE)
def waiting_times_from_a_state(make, operator):
    return [drawn(make, moments(0.5, 0.5, 0)), *state(operator), 2.0], None


@case("aclnnBernoulli", "aclnnInplaceBernoulli", dtypes=(*FLOATS_AND_DOUBLE, *INTEGERS, torch.bool))
def coins(make, operator):
    result = drawn(make, moments(0.25, math.sqrt(3) / 4, 0, 1))
    if operator == "aclnnBernoulli":
        return [torch.zeros(DRAWS, dtype=make.dtype), 0.25, SEED, OFFSET, result], None
    return [result, 0.25, SEED, OFFSET], None


@case(
    "aclnnBernoulliTensor",
    "aclnnInplaceBernoulliTensor",
    dtypes=(*FLOATS_AND_DOUBLE, torch.int32, torch.bool),
)
def coins_of_their_own(make, operator):
    chances = torch.tensor([0.0, 1.0]).repeat(DRAWS[0] // 2)

    def check(got):
        torch.testing.assert_close(got.float(), chances, rtol=0, atol=0)

    result = drawn(make, check)
    if operator == "aclnnBernoulliTensor":
        return [torch.zeros(DRAWS, dtype=make.dtype), chances, SEED, OFFSET, result], None
    return [result, chances, SEED, OFFSET], None


@case("aclnnMultinomial", "aclnnMultinomialTensor", dtypes=FLOATS_AND_DOUBLE)
def categories_by_weight(make, operator):
    weights = torch.tensor([[0.0, 1.0, 3.0], [2.0, 0.0, 2.0]], dtype=make.dtype)

    def shares(got):
        counts = torch.stack([(got == i).double().mean(-1) for i in range(3)], -1)
        wanted = torch.tensor([[0.0, 0.25, 0.75], [0.5, 0.0, 0.5]], dtype=torch.float64)
        torch.testing.assert_close(counts, wanted, rtol=0, atol=0.05)

    def different(got):
        assert sorted(got.tolist()) == [1, 2], got

    yield [weights, 2048, True, *state(operator), Check((2, 2048), torch.int64, shares)], None
    yield [weights[0], 2, False, *state(operator), Check((2,), torch.int64, different)], None


@case("aclnnRandperm", dtypes=(torch.int32, torch.int64, torch.float32))
def a_shuffled_range(make):
    def check(got):
        assert sorted(got.tolist()) == list(range(50)), got
        assert got.tolist() != list(range(50)), "nothing was shuffled"

    return [50, SEED, OFFSET, Check((50,), make.dtype, check)], None


@case("aclnnApplyTopKTopP", dtypes=FLOATS_AND_DOUBLE[:3])
def the_logits_that_sampling_considers(make):
    logits = torch.randperm(24, generator=make.generator).view(3, 8).to(make.dtype) / 4
    k, p = torch.tensor([3, 8, 1], dtype=torch.int32), torch.tensor([0.9, 0.5, 0.7]).to(make.dtype)
    yield [logits, None, k, OUT], _likeliest(logits, None, k)
    yield [logits, p, None, OUT], _likeliest(logits, p, None)
    yield [logits, p, k, OUT], _likeliest(logits, p, k)


def _likeliest(logits, p, k):
    values, order = logits.float().sort(dim=-1, stable=True)
    if k is not None:
        values = values.masked_fill(values < values.gather(1, 8 - k.long()[:, None]), -torch.inf)
    if p is not None:
        gone = values.softmax(-1).cumsum(-1) <= 1 - p.float()[:, None]
        gone[:, -1] = False
        values = values.masked_fill(gone, -torch.inf)
    return torch.empty_like(values).scatter_(1, order, values).to(logits)
