"""Datasets, samplers and collate functions."""

import random
from collections import OrderedDict, namedtuple
from types import MappingProxyType

import numpy
import pytest

import mindtorch_v2 as torch
from mindtorch_v2.utils import data


class Stream(data.IterableDataset):
    def __init__(self, values):
        self.values = values

    def __iter__(self):
        return iter(self.values)

    def __len__(self):
        return len(self.values)


def test_tensors_are_indexed_together():
    dataset = data.TensorDataset(torch.arange(4), torch.arange(8).reshape(4, 2))
    assert len(dataset) == 4 and [part.tolist() for part in dataset[2]] == [2, [4, 5]]
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        data.TensorDataset(torch.ones(2), torch.ones(3))


def test_datasets_combine():
    letters, numbers = "abc", [1, 2, 3]
    assert data.StackDataset(letters, numbers)[1] == ("b", 2)
    assert data.StackDataset(letter=letters, number=numbers).__getitems__([0, 2]) == [
        {"letter": "a", "number": 1},
        {"letter": "c", "number": 3},
    ]
    both = data.ConcatDataset([letters, numbers])
    assert [both[i] for i in range(6)] == ["a", "b", "c", 1, 2, 3] and both[-1] == 3 and len(both) == 6
    chained = Stream([1, 2]) + Stream([3])
    assert list(chained) == [1, 2, 3] and len(chained) == 3
    part = data.Subset(numbers, [2, 0])
    assert [part[0], part[1]] == [3, 1] and part.__getitems__([1]) == [1] and len(part) == 2


def test_bad_combinations_are_refused():
    with pytest.raises(ValueError, match="absolute value of index"):
        data.ConcatDataset([[1]])[-2]
    with pytest.raises(AssertionError, match="does not support IterableDataset"):
        data.ConcatDataset([Stream([1])])
    with pytest.raises(ValueError, match="Size mismatch between datasets"):
        data.StackDataset([1], [1, 2])
    with pytest.raises(NotImplementedError, match="overrides __getitem__ but not __getitems__"):
        type("Odd", (data.Subset,), {"__getitem__": lambda self, i: i})([1], [0])
    with pytest.raises(NotImplementedError, match="should implement __getitem__"):
        data.Dataset()[0]


def test_random_split_covers_everything_once():
    parts = data.random_split(range(31), [0.3, 0.3, 0.4], generator=torch.Generator().manual_seed(1))
    assert [len(part) for part in parts] == [10, 9, 12]
    assert sorted(value for part in parts for value in part) == list(range(31))
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        data.random_split(range(1), [0.9, 0.1])
    with pytest.raises(ValueError, match="Sum of input lengths"):
        data.random_split(range(3), [1, 1])


def test_samplers_give_every_index_they_should():
    torch.manual_seed(0)
    assert list(data.SequentialSampler("abc")) == [0, 1, 2]
    assert sorted(data.RandomSampler(range(10))) == list(range(10))
    assert len(list(data.RandomSampler(range(3), num_samples=8))) == 8
    assert set(data.RandomSampler(range(3), replacement=True, num_samples=100)) == {0, 1, 2}
    assert sorted(data.SubsetRandomSampler([5, 7])) == [5, 7]
    assert set(data.WeightedRandomSampler([0.0, 1.0], 5)) == {1}
    assert list(data.BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
    assert list(data.BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    for drop_last, expected in [(False, 12), (True, 9)]:
        samplers = [data.DistributedSampler(range(10), 3, rank, drop_last=drop_last) for rank in range(3)]
        taken = [index for sampler in samplers for index in sampler]
        assert len(taken) == expected == sum(map(len, samplers)) and len(set(taken)) == min(10, expected)
    first = list(samplers[0])
    samplers[0].set_epoch(1)
    assert list(samplers[0]) != first


def test_recorded_orders():
    """What PyTorch 2.13.0 gives for these seeds."""
    torch.manual_seed(3)
    assert list(data.RandomSampler(range(10))) == RECORDED["random"]
    assert list(data.WeightedRandomSampler([0.1, 0.9, 0.4, 0.7], 6)) == RECORDED["weighted"]
    splits = data.random_split(range(10), [3, 7], generator=torch.Generator().manual_seed(42))
    assert [list(split) for split in splits] == RECORDED["split"]


RECORDED = {
    "random": [7, 0, 9, 1, 6, 4, 5, 3, 2, 8],
    "weighted": [1, 3, 1, 3, 2, 1],
    "split": [[2, 6, 1], [8, 4, 5, 0, 9, 3, 7]],
}


Pair = namedtuple("Pair", "a b")


def test_collate_keeps_the_structure():
    sample = {
        "int": 1, "float": 2.5, "bool": True, "text": "s", "bytes": b"b", "tensor": torch.ones(2),
        "array": numpy.ones(3, numpy.float32), "scalar": numpy.int32(4), "tuple": (1, 2.0), "list": [1],
        "pair": Pair(1, torch.zeros(1)), "ordered": OrderedDict(z=1),
    }  # fmt: skip
    batch = data.default_collate([sample, sample])
    assert batch["int"].dtype is torch.int64 and batch["float"].dtype is torch.float64
    assert (
        batch["bool"].tolist() == [True, True]
        and batch["text"] == ["s", "s"]
        and batch["bytes"] == [b"b", b"b"]
    )
    assert batch["tensor"].shape == (2, 2) and batch["array"].dtype is torch.float32
    assert batch["scalar"].tolist() == [4, 4] and type(batch["tuple"]) is list and type(batch["list"]) is list
    assert type(batch["pair"]) is Pair and batch["pair"].b.shape == (2, 1)
    assert type(batch["ordered"]) is OrderedDict
    fixed = data.default_collate([MappingProxyType({"a": 1})])
    assert dict(fixed)["a"].tolist() == [1]


def test_collate_refuses_what_it_cannot_stack():
    for batch, text in [
        ([None], "found <class 'NoneType'>"),
        ([numpy.array(["a"])], "found <U1"),
    ]:
        with pytest.raises(TypeError, match=text):
            data.default_collate(batch)
    with pytest.raises(RuntimeError, match="each element in list of batch should be of equal size"):
        data.default_collate([[1], [1, 2]])
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        data.default_collate([torch.ones(2), torch.ones(3)])


def test_convert_makes_arrays_tensors_and_leaves_the_rest():
    got = data.default_convert(
        {"a": numpy.arange(2), "b": "text", "c": (1, numpy.float32(2.5)), "d": Pair(1, 2)}
    )
    assert got["a"].tolist() == [0, 1] and got["b"] == "text" and got["c"][1].item() == 2.5
    assert got["d"] == Pair(1, 2)


def test_loading_in_this_process():
    class Squares(data.Dataset):
        def __len__(self):
            return 7

        def __getitem__(self, index):
            return torch.tensor(index * index)

    loader = data.DataLoader(Squares(), batch_size=3)
    assert len(loader) == 3 and [batch.tolist() for batch in loader] == [[0, 1, 4], [9, 16, 25], [36]]
    assert [b.tolist() for b in data.DataLoader(Squares(), batch_size=3, drop_last=True)] == [
        [0, 1, 4],
        [9, 16, 25],
    ]
    assert [x.item() for x in data.DataLoader(Squares(), batch_size=None)] == [i * i for i in range(7)]
    assert [b.tolist() for b in data.DataLoader(Squares(), batch_sampler=[[6], [0, 1]])] == [[36], [0, 1]]
    assert list(data.DataLoader(Squares(), batch_size=2, collate_fn=len)) == [2, 2, 2, 1]
    assert [b.tolist() for b in data.DataLoader(Stream(range(5)), batch_size=2)] == [[0, 1], [2, 3], [4]]
    assert [b.tolist() for b in data.DataLoader(Stream(range(5)), batch_size=2, drop_last=True)] == [
        [0, 1],
        [2, 3],
    ]
    assert all(batch.is_pinned() for batch in data.DataLoader(Squares(), batch_size=3, pin_memory=True))


def test_arguments_that_contradict_each_other_are_refused():
    for options, error, text in [
        ({"num_workers": -1}, ValueError, "num_workers option should be non-negative"),
        ({"timeout": -1}, ValueError, "timeout option should be non-negative"),
        (
            {"prefetch_factor": 2},
            ValueError,
            "prefetch_factor option could only be specified in multiprocessing",
        ),
        ({"persistent_workers": True}, ValueError, "persistent_workers option needs num_workers > 0"),
        ({"sampler": [0], "shuffle": True}, ValueError, "sampler option is mutually exclusive with shuffle"),
        ({"batch_sampler": [[0]], "batch_size": 2}, ValueError, "batch_sampler option is mutually exclusive"),
        (
            {"batch_size": None, "drop_last": True},
            ValueError,
            "batch_size=None option disables auto-batching",
        ),
        ({"multiprocessing_context": "fork"}, ValueError, "can only be used with multi-process loading"),
        ({"num_workers": 1, "multiprocessing_context": 3}, TypeError, "should be a valid context object"),
    ]:
        with pytest.raises(error, match=text):
            data.DataLoader([1], **options)
    with pytest.raises(ValueError, match="expected unspecified sampler option"):
        data.DataLoader(Stream([1]), sampler=[0])
    loader = data.DataLoader([1])
    with pytest.raises(
        ValueError, match="batch_size attribute should not be set after DataLoader is initialized"
    ):
        loader.batch_size = 3


def test_a_stream_longer_than_it_said_gets_a_warning():
    class Liar(Stream):
        def __len__(self):
            return 1

    loader = data.DataLoader(Liar([1, 2]), batch_size=None)
    assert len(loader) == 1
    with pytest.warns(UserWarning, match="was reported to be 1"):
        assert list(loader) == [1, 2]


def test_the_global_generator_of_python_is_left_alone():
    random.seed(1)
    expected = random.random()
    random.seed(1)
    list(data.DataLoader(range(10), shuffle=True))
    assert random.random() == expected


def test_the_profiler_shows_the_wait_for_a_batch():
    with torch.profiler.profile() as profile:
        list(data.DataLoader(range(3)))
    names = [event.key for event in profile.key_averages()]
    assert "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__" in names
