"""Datasets made of steps."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.utils.data import DataLoader, IterDataPipe, MapDataPipe, functional_datapipe
from mindtorch_v2.utils.data.datapipes import iter as steps
from mindtorch_v2.utils.data.datapipes import map as keyed
from mindtorch_v2.utils.data.graph import traverse_dps
from mindtorch_v2.utils.data.graph_settings import apply_random_seed, apply_sharding, apply_shuffle_settings


def numbers(count=6):
    return steps.IterableWrapper(range(count))


def even(value):
    return value % 2 == 0


def test_a_step_is_a_method_of_every_other():
    made = numbers(10).filter(even).map(lambda value: value * 10).batch(2)
    assert [list(batch) for batch in made] == [[0, 20], [40, 60], [80]]
    assert list(made.unbatch()) == [0, 20, 40, 60, 80]


def test_a_class_of_ones_own_becomes_a_method():
    @functional_datapipe("plus_for_this_test")
    class Plus(IterDataPipe):
        def __init__(self, source, number):
            self.source, self.number = source, number

        def __iter__(self):
            return (value + self.number for value in self.source)

    assert list(numbers(3).plus_for_this_test(5)) == [5, 6, 7]
    with pytest.raises(Exception, match="already taken"):
        functional_datapipe("plus_for_this_test")(Plus)
    with pytest.raises(TypeError, match="can only decorate IterDataPipe or MapDataPipe"):
        functional_datapipe("other")(int)
    with pytest.raises(AttributeError, match="has no attribute 'no_such_step'"):
        numbers().no_such_step()


def test_steps_have_lengths():
    assert len(numbers(7).batch(3)) == 3 and len(numbers(7).batch(3, drop_last=True)) == 2
    assert len(numbers(2).concat(numbers(3))) == 5 and len(numbers(2).zip(numbers(3))) == 2
    assert list(numbers(2).mux(numbers(3))) == [0, 0, 1, 1]


def test_a_seed_decides_the_order_of_one_pass():
    shuffled = numbers(20).shuffle(buffer_size=5)
    first = list(shuffled.set_seed(3))
    assert sorted(first) == list(range(20)) and first != list(range(20))
    assert list(shuffled.set_seed(3)) == first != list(shuffled)
    assert list(shuffled.set_shuffle(False)) == list(range(20))


def test_settings_reach_the_steps_below():
    pipe = numbers(8).shuffle().sharding_filter().map(str)
    assert len(traverse_dps(pipe)) == 1 and pipe is traverse_dps(pipe)[id(pipe)][0]
    apply_shuffle_settings(pipe, shuffle=False)
    apply_sharding(pipe, 2, 1)
    assert list(pipe) == ["1", "3", "5", "7"]
    apply_shuffle_settings(pipe, shuffle=True)
    orders = []
    for _ in range(2):
        apply_random_seed(pipe, torch.Generator().manual_seed(1))
        orders.append(list(pipe))
    assert orders[0] == orders[1]


def test_columns_are_replaced():
    pairs = steps.IterableWrapper([(1, 2), (3, 4)])
    assert list(pairs.map(lambda a, b: a + b, input_col=[0, 1])) == [(3,), (7,)]
    assert list(pairs.map(str, input_col=1)) == [(1, "2"), (3, "4")]
    assert list(pairs.map(str, input_col=1, output_col=-1)) == [(1, 2, "2"), (3, 4, "4")]


def test_steps_by_key():
    letters = keyed.SequenceWrapper("abcde")
    assert isinstance(letters, MapDataPipe) and letters.map(str.upper)[1] == "B"
    assert list(letters.batch(2)[2]) == ["e"] and len(letters.batch(2, drop_last=True)) == 2
    assert letters.concat(letters)[7] == "c" and letters.zip(letters)[0] == ("a", "a")
    assert sorted(letters.shuffle()) == list("abcde")
    with pytest.raises(IndexError, match="Index 3 is out of bound"):
        letters.batch(2)[3]


def test_a_loader_reads_steps():
    loaded = list(DataLoader(numbers(6).map(float), batch_size=3))
    assert [batch.tolist() for batch in loaded] == [[0, 1, 2], [3, 4, 5]]


def test_steps_that_read_files_refuse():
    with pytest.raises(
        NotImplementedError, match="torch.utils.data.datapipes.iter.FileOpener is not in this library"
    ):
        steps.FileOpener(numbers())
