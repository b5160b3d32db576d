"""Memory of batches: workers write it again when nobody can see it any more, and only then."""

import os
from multiprocessing.reduction import ForkingPickler

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.utils import data


class Planes(data.Dataset):
    """Samples of 16 KiB, so that a batch of four is in shared memory."""

    def __init__(self, count=96):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return torch.full((64, 64), float(index))


def loader(**options):
    return data.DataLoader(Planes(), batch_size=4, num_workers=1, **options)


def descriptor(batch):
    return batch.untyped_storage()._handle.descriptor()


def block(batch):
    return os.fstat(descriptor(batch)).st_ino


def first_values(batches):
    return [batch[0, 0, 0].item() for batch in batches]


@pytest.mark.parametrize("options", [{}, {"persistent_workers": True}])
def test_a_few_blocks_carry_all_batches(options):
    batches = loader(**options)
    seen = [block(batch) for _ in range(2) for batch in batches]
    assert len(seen) == 48 and len(set(seen)) <= 12


def test_a_block_of_a_larger_batch_carries_a_smaller_one_of_the_right_size():
    class Sizes(Planes):
        def __getitem__(self, index):
            return torch.full((64 - index // 4, 64), float(index))

    batches = data.DataLoader(Sizes(64), batch_size=4, num_workers=1)
    seen = set()
    for batch in batches:
        assert batch.untyped_storage().nbytes() == batch.nbytes
        seen.add(block(batch))
    assert len(seen) <= 6


def test_batches_and_views_that_are_kept_stay_as_they_are():
    kept = [
        batch.view(-1)[::64].numpy()[:1] if i % 2 else batch[0, 0, :1] for i, batch in enumerate(loader())
    ]
    assert [values[0].item() for values in kept] == [float(4 * i) for i in range(24)]
    assert first_values(list(loader())) == [float(4 * i) for i in range(24)]


def test_a_batch_that_the_graph_keeps_stays_as_it_is():
    weight = torch.ones(64, requires_grad=True)
    losses = [(batch * weight).sum() for batch in loader()]
    torch.stack(losses).sum().backward()
    assert weight.grad[0].item() == 64 * sum(range(96))


def test_what_another_process_may_have_is_not_written_again():
    batches = iter(loader())
    batch = next(batches)
    ForkingPickler.dumps(batch)
    seen = block(batch)
    del batch
    assert seen not in [block(batch) for batch in batches]


def test_what_a_forked_child_may_read_is_not_written_again():
    batches = iter(loader())
    batch = next(batches)
    seen = block(batch)
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    del batch
    assert seen not in [block(batch) for batch in batches]


def test_what_a_worker_keeps_is_not_written_again():
    class Caching(Planes):
        kept = None

        def __getitems__(self, indices):
            return [self[index] for index in indices]

    dataset = Caching()

    def collate(samples):
        batch = data.default_collate(samples)
        if dataset.kept is None:
            dataset.kept = batch
        return batch, dataset.kept[0, 0, 0].item()

    batches = data.DataLoader(dataset, batch_size=4, num_workers=1, collate_fn=collate)
    assert {kept for _, kept in batches} == {0.0}


def test_the_same_block_in_two_messages_comes_back_twice():
    class Repeating(Planes):
        pass

    kept = []

    def collate(samples):
        if not kept:
            kept.append(data.default_collate(samples))
        return kept[0]

    batches = data.DataLoader(Repeating(), batch_size=4, num_workers=1, collate_fn=collate)
    assert first_values(batches) == [0.0] * 24
