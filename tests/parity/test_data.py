"""The same batches as PyTorch's DataLoader for the same seed, with and without workers."""

import random

import numpy
import pytest
import torch
import torch.utils.data

import mindtorch_v2
import mindtorch_v2.utils.data

LIBRARIES = (torch, mindtorch_v2)


def both(function):
    """What a function of the library gives in each."""
    found = [function(library, library.utils.data) for library in LIBRARIES]
    assert found[0] == found[1]
    return found[0]


def plain(value):
    if isinstance(value, (torch.Tensor, mindtorch_v2.Tensor)):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def test_samplers_and_splits_give_the_same_order():
    def orders(library, data):
        library.manual_seed(3)
        found = [
            list(data.RandomSampler(range(20))),
            list(data.RandomSampler(range(20), replacement=True, num_samples=70)),
            list(data.RandomSampler(range(7), num_samples=20)),
            list(data.SubsetRandomSampler([3, 5, 9, 1])),
            list(data.WeightedRandomSampler([0.1, 0.9, 0.4, 0.7], 5)),
            list(data.WeightedRandomSampler([0.1, 0.9, 0.4, 0.7], 4, replacement=False)),
        ]
        generator = library.Generator().manual_seed(42)
        for lengths in ([3, 7], [0.35, 0.65]):
            found += [list(part) for part in data.random_split(range(10), lengths, generator=generator)]
        found += [list(part) for part in data.random_split(range(10), [5, 5])]
        for rank in range(3):
            for drop_last in (False, True):
                sampler = data.DistributedSampler(range(10), 3, rank, seed=2, drop_last=drop_last)
                sampler.set_epoch(4)
                found.append(list(sampler))
        found.append(library.rand(3).tolist())
        return found

    both(orders)


class Draws:
    """Random numbers of all three generators, so that seeds are compared too."""

    def __init__(self, library):
        self.torch = library

    def __len__(self):
        return 13

    def __getitem__(self, index):
        return (
            self.torch.rand(50, 50) + index,
            {"python": random.random(), "numpy": numpy.random.random(), "index": index},
        )


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(
    "options", [{}, {"shuffle": True}, {"shuffle": True, "drop_last": True}, {"own": True}]
)
def test_batches_are_the_same(workers, options):
    def batches(library, data):
        library.manual_seed(11)
        random.seed(1)
        numpy.random.seed(2)
        arguments = dict(options)
        if arguments.pop("own", False):
            arguments.update(shuffle=True, generator=library.Generator().manual_seed(9))
        loader = data.DataLoader(Draws(library), batch_size=4, num_workers=workers, **arguments)
        found = [plain(batch) for _ in range(2) for batch in loader]
        return [*found, library.rand(2).tolist()]

    both(batches)


@pytest.mark.parametrize("workers", [0, 2])
def test_streams_are_the_same(workers):
    def batches(library, data):
        class Stream(data.IterableDataset):
            def __iter__(self):
                info = data.get_worker_info()
                start, step = (0, 1) if info is None else (info.id, info.num_workers)
                return iter(range(start, 17, step))

        persistent = {"persistent_workers": True} if workers else {}
        loader = data.DataLoader(Stream(), batch_size=3, num_workers=workers, **persistent)
        return [batch.tolist() for _ in range(2) for batch in loader]

    both(batches)


def test_errors_of_workers_are_wrapped_alike():
    def errors(library, data):
        class Broken(data.Dataset):
            def __len__(self):
                return 3

            def __getitem__(self, index):
                raise IndexError("no such sample")

        iterator = iter(data.DataLoader(Broken(), num_workers=2))
        found = []
        while True:  # to the end, where the workers end
            try:
                next(iterator)
            except StopIteration:
                return found
            except IndexError as error:
                lines = str(error).splitlines()
                found.append((lines[0], lines[1], lines[-1]))

    assert len(both(errors)) == 3


def test_collate_and_its_errors_are_the_same():
    def collated(library, data):
        sample = {
            "a": 1, "b": 2.5, "c": "s", "d": library.ones(2), "e": numpy.ones(3, numpy.float32),
            "f": (1, library.zeros(1)), "g": [1, 2], "i": numpy.float64(2), "j": b"q", "k": True,
        }  # fmt: skip
        found = [repr(data.default_collate([sample] * 3)), repr(data.default_convert([sample]))]
        for batch in ([None], [[1], [1, 2]], [numpy.array(["a"])], [library.ones(2), library.ones(3)], [{1}]):
            with pytest.raises(Exception) as caught:
                data.default_collate(batch)
            found.append((type(caught.value), str(caught.value)))
        return found

    both(collated)


def test_refused_arguments_get_the_same_words():
    def refusals(library, data):
        found = []
        for options in (
            {"num_workers": -1}, {"timeout": -1}, {"prefetch_factor": 2}, {"persistent_workers": True},
            {"sampler": [0], "shuffle": True}, {"batch_sampler": [[0]], "batch_size": 2},
            {"batch_size": None, "drop_last": True}, {"multiprocessing_context": "fork"},
            {"num_workers": 1, "multiprocessing_context": "x"}, {"num_workers": 1, "multiprocessing_context": 3},
            {"batch_size": 0}, {"num_workers": 1, "prefetch_factor": -1},
        ):  # fmt: skip
            with pytest.raises(Exception) as caught:
                data.DataLoader([1], **options)
            found.append((type(caught.value), str(caught.value)))
        return found

    both(refusals)
