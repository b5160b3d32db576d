"""Results that start from an expanded tensor, whose elements share memory."""

import numpy as np
import pytest

OPERATORS = {
    "scatter": lambda t, x, at: x.scatter(0, at, t.zeros(1, 3)),
    "scatter a number": lambda t, x, at: x.scatter(0, at, 0.0),
    "scatter add": lambda t, x, at: x.scatter_add(0, at, t.ones(1, 3)),
    "scatter reduce": lambda t, x, at: x.scatter_reduce(0, at, t.ones(1, 3) * 5, "amax"),
    "index add": lambda t, x, at: x.index_add(0, at[0, :1], t.ones(1, 3)),
    "index copy": lambda t, x, at: x.index_copy(0, at[0, :1], t.zeros(1, 3)),
    "index fill": lambda t, x, at: x.index_fill(0, at[0, :1], 3.0),
    "index reduce": lambda t, x, at: x.index_reduce(0, at[0, :1], t.ones(1, 3) * 4, "prod"),
    "put": lambda t, x, at: x.put(at[0, :1], t.zeros(1)),
}


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("name", OPERATORS)
def test_the_result_has_memory_of_its_own(both, name):
    theirs, ours = (
        OPERATORS[name](t, t.tensor([2.0]).expand(2, 3), t.zeros(1, 3, dtype=t.int64)).numpy() for t in both
    )
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", ["scatter_", "scatter_add_"])
def test_in_place_it_is_refused(both, name):
    def message(t):
        with pytest.raises(RuntimeError) as error:
            getattr(t.ones(1).expand(2, 3), name)(0, t.zeros(1, 3, dtype=t.int64), t.ones(1, 3))
        return str(error.value)

    theirs, ours = (message(t) for t in both)
    assert ours == theirs


def test_maxima_of_bags_have_a_gradient(both):
    def gradient(t):
        t.manual_seed(0)
        bag = t.nn.EmbeddingBag(5, 3, mode="max", padding_idx=1)
        bag(t.tensor([1, 2, 4, 3, 1]), t.tensor([0, 3])).sum().backward()
        return bag.weight.grad.numpy()

    theirs, ours = (gradient(t) for t in both)
    np.testing.assert_array_equal(ours, theirs)
