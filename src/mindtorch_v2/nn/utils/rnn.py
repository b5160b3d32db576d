"""Batches of sequences of different lengths: padded, packed, and from one to the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor
from mindtorch_v2._devices import methods

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class PackedSequence_(NamedTuple):
    """The fields of a PackedSequence."""

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(PackedSequence_):
    """Sequences without padding, step by step: ``batch_sizes[t]`` of them are still running at step t.

    The longest come first; ``sorted_indices`` brings them into that order and ``unsorted_indices`` back.
    """

    def __new__(
        cls,
        data: Any,
        batch_sizes: Any = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created "
                "manually. They should be instantiated by functions like pack_sequence and "
                "pack_padded_sequences in nn.utils.rnn. https://pytorch.org/docs/stable/nn.html#torch.nn.utils"
                ".rnn.pack_sequence"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """``data`` converted; the indices go to its device. The sequence itself if nothing changes."""
        _, _, non_blocking, _ = torch._C._nn._parse_to(*args, **kwargs)
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self

        def moved(indices: Tensor | None) -> Tensor | None:
            return None if indices is None else indices.to(data.device, non_blocking=non_blocking)

        return type(self)(data, self.batch_sizes, moved(self.sorted_indices), moved(self.unsorted_indices))

    def _to_device_of_type(self, kind: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Self:
        """``to`` with its arguments; they need not say the device, which is one of this kind."""
        if self.data.new_empty(0).to(*args, **kwargs).device.type != kind:
            kwargs["device"] = kind
        return self.to(*args, **kwargs)

    def cpu(self, *args: Any, **kwargs: Any) -> Self:
        return self._to_device_of_type("cpu", args, kwargs)

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        return self._to_device_of_type("cuda", args, kwargs)

    def double(self) -> Self:
        return self.to(dtype=torch.float64)

    def float(self) -> Self:
        return self.to(dtype=torch.float32)

    def half(self) -> Self:
        return self.to(dtype=torch.float16)

    def long(self) -> Self:
        return self.to(dtype=torch.int64)

    def int(self) -> Self:
        return self.to(dtype=torch.int32)

    def short(self) -> Self:
        return self.to(dtype=torch.int16)

    def char(self) -> Self:
        return self.to(dtype=torch.int8)

    def byte(self) -> Self:
        return self.to(dtype=torch.uint8)

    @property
    def is_cuda(self) -> bool:
        return bool(self.data.is_cuda)

    def is_pinned(self) -> bool:
        return bool(self.data.is_pinned())

    def pin_memory(self) -> Self:
        indices = [
            None if i is None else i.pin_memory() for i in (self.sorted_indices, self.unsorted_indices)
        ]
        return type(self)(self.data.pin_memory(), self.batch_sizes, *indices)


def _called_after(kind: str) -> dict[str, Any]:
    """``sequence.is_<kind>`` and ``sequence.<kind>()``."""

    def moved(self: PackedSequence, device: Any = None, **kwargs: Any) -> PackedSequence:
        return self.to(device=methods.target_of(kind, device), **kwargs)

    return {f"is_{kind}": property(lambda self: self.data.device.type == kind), kind: moved}


methods.made_for_each_type("packed_sequence", PackedSequence, _called_after)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes ``permutation``."""
    if permutation is None:
        return None
    places = torch.arange(permutation.numel(), device=permutation.device, dtype=permutation.dtype)
    return torch.empty_like(permutation).scatter_(0, permutation, places)


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Takes the padding out of (T, B, …). Without ``enforce_sorted`` the sequences may come in any order."""
    if isinstance(lengths, Tensor):
        if lengths.device.type != "cpu":
            raise RuntimeError(
                "'lengths' argument should be a 1D CPU int64 tensor, but got "
                f"{lengths.dim()}D {lengths.device} {str(lengths.dtype).rpartition('.')[2].title()} tensor"
            )
        lengths = lengths.to(torch.int64)
    else:
        lengths = torch.tensor(list(lengths), dtype=torch.int64, device="cpu")
    sorted_indices: Tensor | None = None
    if not enforce_sorted:
        lengths, order = torch.sort(lengths, descending=True)
        sorted_indices = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    steps = input.transpose(0, 1) if batch_first else input
    counts: list[int] = lengths.tolist()
    if steps.size(1) != len(counts):
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(counts)} (batch_size="
            f"{steps.size(1)})"
        )
    if counts[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if any(later > earlier for earlier, later in zip(counts, counts[1:], strict=False)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement "
            "if you do not need ONNX exportability."
        )
    running = [sum(1 for count in counts if count > step) for step in range(counts[0])]
    # Neighbouring steps with the same sequences are one slice.
    pieces = []
    start = 0
    for step in range(1, len(running) + 1):
        if step == len(running) or running[step] != running[start]:
            pieces.append(steps[start:step, : running[start]].reshape(-1, *steps.shape[2:]))
            start = step
    return PackedSequence(torch.cat(pieces), torch.tensor(running, device="cpu"), sorted_indices, None)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The padded tensor and the lengths that a PackedSequence was made from."""
    sizes: list[int] = sequence.batch_sizes.tolist()
    steps = len(sizes)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    data = sequence.data
    counts = [sum(1 for size in sizes if size > place) for place in range(sizes[0])]
    # Where each row of the data goes in the padded steps, flattened.
    rows = [step * sizes[0] + place for step, size in enumerate(sizes) for place in range(size)]
    places = torch.tensor(rows, device=data.device)
    shape = (steps * sizes[0], *data.shape[1:])
    empty = torch.full(shape, padding_value, dtype=data.dtype, device=data.device)
    padded = empty.index_copy(0, places, data).reshape(steps, sizes[0], *data.shape[1:])
    if batch_first:
        padded = padded.transpose(0, 1)
    lengths = torch.tensor(counts, device="cpu")
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(0 if batch_first else 1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices.cpu()]
    return padded, lengths


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Sequences of different lengths in one tensor, (T, B, …) or (B, T, …)."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    rows = list(sequences.unbind(0) if isinstance(sequences, Tensor) else sequences)
    if not rows:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    longest = max(row.size(0) for row in rows)
    filled = []
    for row in rows:
        missing = longest - row.size(0)
        if missing:
            shape = (missing, *row.shape[1:])
            padding = torch.full(shape, padding_value, dtype=row.dtype, device=row.device)
            row = torch.cat([row, padding] if padding_side == "right" else [padding, row])
        filled.append(row)
    return torch.stack(filled, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences that ``pad_sequence`` put together."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:count] for row, count in zip(rows.unbind(0), lengths.tolist(), strict=True)]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs sequences, the longest first unless ``enforce_sorted`` is False."""
    lengths = torch.tensor([sequence.size(0) for sequence in sequences], device="cpu")
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences that ``pack_sequence`` packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
