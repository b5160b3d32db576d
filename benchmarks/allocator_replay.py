"""Peak reserved memory for the allocations of a GPT training step: this allocator beside PyTorch's policy.

    MINDTORCH_NPU=soft python benchmarks/allocator_replay.py [--layers 4] [--width 256] [--batch 8] [--length 128]

The step runs on the software NPU with its history recorded; its allocations and frees, in order, with their
requested sizes, are the trace. It is replayed against this allocator, with segments of fixed size and with
growing ones, and against a model of PyTorch's policy, written from its documentation: sizes are rounded to 512 bytes;
up to 1 MiB they come from 2 MiB segments, below 10 MiB from 20 MiB segments, above from segments of their own
rounded to 2 MiB; the smallest free block that fits is taken and split if more than 512 bytes (small) or 1 MiB
(large) are left; freed neighbours merge. Segments stay reserved, as they do while memory is plenty.
"""

import argparse
import bisect
import os

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F
from mindtorch_v2._backends.npu import allocator

KiB, MiB = 1 << 10, 1 << 20


class PyTorchPolicy:
    """One stream. Free blocks are kept in order of size and address; blocks know their neighbours."""

    class Block:
        def __init__(self, address, size, small):
            self.address, self.size, self.small = address, size, small
            self.free, self.before, self.after = True, None, None

    def __init__(self):
        self.free_blocks = {True: [], False: []}
        self.reserved = self.peak = 0

    def allocate(self, requested):
        size = max(512, -(-requested // 512) * 512)
        small = size <= MiB
        blocks = self.free_blocks[small]
        at = bisect.bisect_left(blocks, (size, 0), key=lambda b: (b.size, b.address))
        block = blocks.pop(at) if at < len(blocks) else self._segment(size, small)
        rest = block.size - size
        if rest >= 512 if small else rest > MiB:
            other = self.Block(block.address + size, rest, small)
            other.before, other.after = block, block.after
            if other.after:
                other.after.before = other
            block.after, block.size = other, size
            self._keep(other)
        block.free = False
        return block

    def free(self, block):
        block.free = True
        for first, second in ((block, block.after), (block.before, block)):
            if first and second and first.free and second.free:
                for part in (first, second):
                    if part is not block:
                        self.free_blocks[block.small].remove(part)
                first.size += second.size
                first.after = second.after
                if first.after:
                    first.after.before = first
                block = first
        self._keep(block)

    def _keep(self, block):
        bisect.insort(self.free_blocks[block.small], block, key=lambda b: (b.size, b.address))

    def _segment(self, size, small):
        if small:
            bytes_taken = 2 * MiB
        else:
            bytes_taken = 20 * MiB if size < 10 * MiB else -(-size // (2 * MiB)) * 2 * MiB
        self.reserved += bytes_taken
        self.peak = max(self.peak, self.reserved)
        return self.Block((1 << 32) + self.peak * 2, bytes_taken, small)


class Ours:
    """This allocator over made-up addresses."""

    def __init__(self, expandable):
        self.pool = allocator.NpuAllocator(0)
        conf = allocator._native.parse_alloc_conf(f"expandable_segments:{expandable}", "benchmark")
        self.pool._native.configure(conf)
        self.next = 1 << 40
        self.pool._raw_malloc = lambda size: (self._addresses(size), size)
        self.pool._raw_free = lambda address: None
        self.pool._mem_get_info = lambda: (1 << 36, 1 << 36)
        self.pool._reserve_addresses = self._addresses
        self.pool._map_memory = lambda address, size: address
        self.allocate, self.free = self.pool.malloc, self.pool.free

    def _addresses(self, size):
        self.next += size
        return self.next - size

    @property
    def peak(self):
        return self.pool.memory_stats()["reserved_bytes.all.peak"]


def train(layers, width, batch, length, steps, vocabulary=1000, heads=4):
    """Training steps of a GPT: parameters, activations, gradients, momentum."""
    torch.manual_seed(0)

    def parameter(*shape):
        return (torch.randn(*shape) * 0.02).to("npu").requires_grad_()

    embedding, position = parameter(vocabulary, width), parameter(length, width)
    blocks = [
        [parameter(3 * width, width), parameter(width, width), parameter(4 * width, width),
         parameter(width, 4 * width), parameter(width), parameter(width)]
        for _ in range(layers)
    ]  # fmt: skip
    parameters = [embedding, position, *(p for block in blocks for p in block)]
    optimizer = torch.optim.SGD(parameters, lr=0.01, momentum=0.9)
    mask = torch.full((length, length), float("-inf")).triu(1).to("npu")

    def heads_of(x):
        return x.reshape(batch, length, heads, width // heads).transpose(1, 2)

    for _ in range(steps):
        tokens = torch.randint(0, vocabulary, (batch, length)).to("npu")
        x = F.embedding(tokens, embedding) + position
        for to_qkv, to_out, up, down, scale1, scale2 in blocks:
            q, k, v = F.linear(F.layer_norm(x, (width,), scale1), to_qkv).split(width, -1)
            scores = heads_of(q) @ heads_of(k).transpose(-1, -2) * (width // heads) ** -0.5
            mixed = torch.softmax(scores + mask, -1) @ heads_of(v)
            x = x + F.linear(mixed.transpose(1, 2).reshape(batch, length, width), to_out)
            x = x + F.linear(F.gelu(F.linear(F.layer_norm(x, (width,), scale2), up)), down)
        logits = F.linear(x, embedding)
        loss = F.cross_entropy(logits.reshape(-1, vocabulary), tokens.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def record(options):
    """The trace: ("alloc", key, requested size) and ("free", key, 0), in order."""
    torch.npu.init()
    torch.npu._record_memory_history(context=None, device=0, clear_history=True)
    loss = train(options.layers, options.width, options.batch, options.length, options.steps)
    snapshot = torch.npu._snapshot()
    torch.npu._record_memory_history(None)
    trace, live = [], {}
    for number, entry in enumerate(snapshot["device_traces"][0]):
        if entry["action"] == "alloc":
            live[entry["addr"]] = number
            trace.append(("alloc", number, entry["size"]))
        elif entry["action"] == "free_completed" and entry["addr"] in live:
            trace.append(("free", live.pop(entry["addr"]), 0))
    return trace, loss


def replay(trace, policy):
    held = {}
    for action, key, size in trace:
        if action == "alloc":
            held[key] = policy.allocate(size)
        else:
            policy.free(held.pop(key))
    return policy.peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("layers", 4), ("width", 256), ("batch", 8), ("length", 128), ("steps", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    os.environ.setdefault("MINDTORCH_NPU", "soft")
    trace, loss = record(parser.parse_args())
    live = peak_live = 0
    sizes = {}
    for action, key, size in trace:
        sizes.setdefault(key, size)
        live += size if action == "alloc" else -sizes[key]
        peak_live = max(peak_live, live)
    print(
        f"{len(trace)} allocations and frees, loss {loss:.4f}, at most {peak_live / MiB:.1f} MiB asked for at once"
    )
    theirs = replay(trace, PyTorchPolicy())
    for name, peak in (
        ("PyTorch's policy", theirs),
        ("ours", replay(trace, Ours(False))),
        ("ours, expandable_segments", replay(trace, Ours(True))),
    ):
        print(f"{name:28} {peak / MiB:8.1f} MiB reserved at most, {peak / theirs:.3f}")


if __name__ == "__main__":
    main()
