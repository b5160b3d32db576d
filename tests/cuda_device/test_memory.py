"""What the memory pools promise, on a GPU."""

import random
import threading

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn

MiB = 1 << 20


def test_blocks_that_are_in_use_never_share_bytes():
    chance = random.Random(1)
    held = {}
    for number in range(300):
        if held and chance.random() < 0.45:
            value, tensor = (
                held.popitem() if chance.random() < 0.5 else (key := next(iter(held)), held.pop(key))
            )
            assert tensor.eq(value).all().item()
        size = chance.choice([1, 3, 500, 513, 5000, MiB, 3 * MiB + 7, 20 * MiB])
        held[number % 251] = torch.full((size,), number % 251, dtype=torch.uint8, device="cuda")
    for value, tensor in held.items():
        assert tensor.eq(value).all().item()


def test_memory_that_was_freed_is_reused_and_counted():
    first = torch.empty(4 * MiB, dtype=torch.uint8, device="cuda")
    address = first.data_ptr()
    allocated, reserved = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    del first
    assert torch.cuda.memory_allocated() == allocated - 4 * MiB
    assert torch.cuda.memory_reserved() == reserved
    again = torch.empty(4 * MiB, dtype=torch.uint8, device="cuda")
    assert again.data_ptr() == address
    del again
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() < reserved


def test_a_block_used_on_another_stream_is_not_reused_before_that_stream_is_done():
    side = torch.cuda.Stream()
    x = torch.ones(8 * MiB, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(50):
            total = x.sum()
    x.record_stream(side)
    del x
    torch.zeros(8 * MiB, device="cuda")
    side.synchronize()
    assert total.item() == 8 * MiB


def test_threads_allocate_and_free_at_once():
    problems = []

    def work(value):
        try:
            for _ in range(50):
                x = torch.full((1000 * value,), float(value), device="cuda")
                if not x.eq(value).all().item():
                    problems.append(value)
        except RuntimeError as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(value,)) for value in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


def test_too_much_is_refused_and_cached_memory_is_given_back_for_what_fits():
    free, total = torch.cuda.mem_get_info()
    with pytest.raises(torch.cuda.OutOfMemoryError, match="CUDA out of memory"):
        torch.empty(2 * total, dtype=torch.uint8, device="cuda")
    most = int(free * 0.6)
    torch.empty(most, dtype=torch.uint8, device="cuda")  # stays in the cache, in the way of the next
    assert torch.empty(int(free * 0.7), dtype=torch.uint8, device="cuda").numel() == int(free * 0.7)
    assert torch.cuda.memory_stats()["num_alloc_retries"] >= 1
    assert torch.ones(3, device="cuda").sum().item() == 3


def test_segments_that_grow_in_place(in_process):
    printed = in_process(
        """
MiB = 1 << 20
x = torch.ones(30 * MiB, dtype=torch.uint8, device="cuda")
del x
y = torch.ones(90 * MiB, dtype=torch.uint8, device="cuda")
segments = [s for s in torch.cuda.memory_snapshot() if s["total_size"] >= 90 * MiB]
print(len(segments), segments[0]["is_expandable"], y.sum(dtype=torch.int64).item() == 90 * MiB,
      torch.cuda.memory_reserved() < 110 * MiB)
""",
        PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True",
    )
    assert printed == "1 True True True"


def test_memory_is_flat_over_ten_thousand_training_steps():
    model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 8)).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    inputs, wanted = torch.randn(32, 64, device="cuda"), torch.randint(8, (32,), device="cuda")
    seen = []
    for step in range(10_000):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), wanted).backward()
        optimizer.step()
        if step % 500 == 499:
            torch.cuda.synchronize()
            free, _ = torch.cuda.mem_get_info()
            seen.append((torch.cuda.memory_allocated(), torch.cuda.memory_reserved(), free))
    assert len(set(seen)) == 1, seen


def test_pinned_memory_is_copied_without_the_host_waiting():
    host = torch.arange(MiB).pin_memory()
    assert host.is_pinned()
    there = host.to("cuda", non_blocking=True)
    back = torch.empty(MiB, dtype=torch.int64).pin_memory().copy_(there, non_blocking=True)
    torch.cuda.synchronize()
    assert torch.equal(back, host)
