"""What PyTorch takes on an NVIDIA GPU beside the tensors of a program: for ``mindtorch memory estimate --device cuda``.

Note [PyTorch on CUDA]
A program on ``meta`` makes the tensors that PyTorch makes, operator by operator. PyTorch's kernels and NVIDIA's
libraries ask its allocator for more, and keep other things for backward. Each term here is one of these:

* cuBLAS has a workspace for each thread that multiplies matrices, kept for ever: that of the program and that of
  backward; cuBLASLt, which adds biases, a small one.
* A sum over many rows is split over blocks of threads, whose parts are put together in a buffer
  (:func:`reduction_buffer`).
* The gradient of an embedding of many words sums the rows of each word in parts.
* cuDNN's convolutions work on channels that lie side by side: they copy input, result and, unless it is a point, the
  kernel. A convolution with a point is a product of matrices; its weight's gradient is made for each image.
* Attention is fused: no scores, but their logarithmic sums are kept. Dropout keeps a byte for each number.
* Recurrent layers are one call of cuDNN: gates of all steps are kept (the reserve), all weights lie in one buffer, so
  do their gradients, and there is a workspace for the products of all steps, which is there when the reserve is made.
  Backward has it twice, for the inputs and then for the weights. Under autocast they run in float16, whichever dtype
  autocast has.
* A linear layer of rows that lie apart (what a recurrent layer gives, its batch first) copies them and adds its bias
  afterwards: no workspace of cuBLASLt, and backward sums for the bias first.

The numbers are those that PyTorch 2.11 with cuDNN 9.19 asked for on an H200.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import mindtorch_v2 as torch

from .. import _functions
from .._devices import registry
from .._plan import memory
from ..amp import autocast_mode
from ..nn.functional import attention as _attention
from ..optim import _lists
from ..utils._python_dispatch import TorchDispatchMode

_MEBI = 1 << 20
_BETWEEN_COPIES = 64 * _MEBI  # up to here a gradient is made for each image


@dataclass(frozen=True)
class Gpu:
    """What the sizes depend on; the usual one is an H100 or H200."""

    processors: int = 132
    threads: int = 2048  # that one of them holds
    capability: tuple[int, int] = (9, 0)

    @property
    def blas_workspace(self) -> int:
        return 32 * _MEBI if self.capability[0] >= 9 else 4096 * 1024 * 2 + 16 * 1024 * 8


def _power(value: int, most: int) -> int:
    return min(1 << (max(value, 1).bit_length() - 1), most)


def reduction_buffer(outputs: int, inputs: int, inner: bool, gpu: Gpu, item: int = 4) -> int:
    """Bytes for the parts of a reduction of ``inputs`` numbers to each of ``outputs``; ``inner``: the numbers of one
    result lie side by side. A block has up to 512 threads, fewer if each loads a vector of results; the inputs are
    split over blocks where each thread would add 256 and the GPU has room for more blocks."""
    vector = 1 if inner else 4 if outputs % 4 == 0 else 2 if outputs % 2 == 0 else 1
    most = 512 // vector
    across, along = (inputs, outputs) if inner else (outputs // vector, inputs)
    width = min(_power(across, most), 32)
    height = min(_power(along, most), most // width)
    width = min(_power(across, most), most // height)
    each = math.ceil(inputs / width) if inner else inputs
    if each < min(height * 16, 256):
        return 0
    each = math.ceil(each / height)
    blocks = math.ceil(outputs / vector) if inner else math.ceil(outputs / vector / width)
    room = gpu.processors * (gpu.threads // (width * height))
    if each < 256 or blocks > room:
        return 0
    split = max(min(math.ceil(room / blocks), math.ceil(each / 16)), math.ceil(each / 256))
    return 0 if split < 2 else item * outputs * split * (1 if inner else width * vector)


def _bytes(tensor: Any) -> int:
    return int(tensor.numel()) * int(tensor.element_size())


def _for_a_while(nbytes: int) -> None:
    """Memory that an operator takes and gives back."""
    if nbytes:
        torch.empty(nbytes, dtype=torch.uint8, device="meta")


def _is_reduced_inside(tensor: Any, dims: set[int]) -> bool:
    strides = {dim: tensor.stride(dim) for dim in range(tensor.dim()) if tensor.size(dim) > 1}
    return not strides or min(strides, key=lambda dim: strides[dim]) in dims


def _of_sum(gpu: Gpu, args: tuple[Any, ...], result: Any) -> None:
    (tensor, *rest) = args
    if not isinstance(result, torch.Tensor) or not result.numel() or not tensor.numel():
        return
    given = rest[0] if rest and isinstance(rest[0], (list, tuple, int)) else None
    listed = [given] if isinstance(given, int) else list(given or range(tensor.dim()))
    dims = {dim % max(tensor.dim(), 1) for dim in listed}
    inner = _is_reduced_inside(tensor, dims)
    item = max(tensor.element_size(), 4)
    _for_a_while(reduction_buffer(result.numel(), tensor.numel() // result.numel(), inner, gpu, item))


def _embedding_backward(gradient: Any, indices: Any, words: int, *rest: Any) -> Any:
    """In place of the operator, which other devices make of several."""
    dense = gradient.contiguous()
    result = gradient.new_empty((words, gradient.shape[-1]))
    places = indices.numel()
    if places > 3072:  # fewer are added one after the other
        _for_a_while((places // 10 + min(places, words)) * dense.shape[-1] * 4)
    return result


def _convolves_copies(images: Any, groups: int) -> bool:
    """Whether cuDNN has to bring the channels together."""
    return (
        images.dim() == 4
        and groups != images.shape[1]
        and images.is_contiguous()
        and not images.is_contiguous(memory_format=torch.channels_last)
    )


def _is_point(weight: Any, stride: Any, padding: Any) -> bool:
    return weight.shape[2:].numel() == 1 and set(stride) <= {1} and set(padding) <= {0}


def _copies(images: Any, results: Any, weight: Any) -> int:
    kernel = _bytes(weight) if weight.shape[2:].numel() > 1 else 0
    return _bytes(images) + _bytes(results) + kernel


def _of_convolution(gpu: Gpu, args: tuple[Any, ...], result: Any) -> None:
    images, weight, _, stride, padding, _, _, _, groups = args[:9]
    if _convolves_copies(images, groups) and not _is_point(weight, stride, padding):
        _for_a_while(_copies(images, result, weight))


def _of_convolution_backward(gpu: Gpu, args: tuple[Any, ...], result: Any) -> None:
    gradient, images, weight, _, stride, padding, _, _, _, groups = args[:10]
    if not _convolves_copies(images, groups):
        return
    copies = _copies(images, gradient, weight)
    point = _is_point(weight, stride, padding)
    if result[0] is not None and not point:
        _for_a_while(copies)
    if result[1] is not None:
        for_each = images.shape[0] * weight.numel() * 4
        _for_a_while(for_each if point and for_each <= _BETWEEN_COPIES else copies)


_TERMS: dict[str, Callable[[Gpu, tuple[Any, ...], Any], None]] = {
    "sum": _of_sum,
    "mean": _of_sum,
    "convolution": _of_convolution,
    "convolution_backward": _of_convolution_backward,
}
_PRODUCTS = {"mm", "addmm", "bmm", "baddbmm"}


class _Operators(TorchDispatchMode):
    """What single operators take beside their results."""

    def __init__(self, gpu: Gpu) -> None:
        super().__init__()
        self._gpu = gpu
        self._kept: dict[str, Any] = {}
        self._backward = False

    def _keep(self, name: str, nbytes: int) -> None:
        if name not in self._kept:
            self._kept[name] = torch.empty(nbytes, dtype=torch.uint8, device="meta")

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = str(func).split(".")[1]
        if name == "embedding_dense_backward":
            return _embedding_backward(*args)
        result = func(*args, **(kwargs or {}))
        self._backward |= "backward" in name
        if name in _PRODUCTS:
            self._keep("backward" if self._backward else "forward", self._gpu.blas_workspace)
            if name == "addmm":
                self._keep("biases", _MEBI)
        elif name in _TERMS:
            _TERMS[name](self._gpu, args, result)
        return result


class _Attention(torch.autograd.Function):
    """Fused: what is kept is the result and, for each row of scores, the logarithm of their sum."""

    @staticmethod
    def forward(ctx: Any, query: Any, key: Any, value: Any, mask: Any) -> Any:
        batch, heads, length, _ = query.shape
        result = query.new_empty((batch, length, heads, value.shape[3])).transpose(1, 2)
        rows = math.ceil(length / 32) * 32 if query.dtype == torch.float32 else length
        sums = query.new_empty((batch, heads, rows), dtype=torch.float32)
        ctx.save_for_backward(query, key, value, result.detach(), sums, mask)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        query, key, value, _, sums, _ = ctx.saved_tensors
        if query.dtype == torch.float32:
            _for_a_while(_bytes(gradient))  # times the result
        gradients = [torch.empty_like(each) for each in (query, key, value)]
        of_rows = 0 if query.dtype == torch.float32 else _bytes(sums)
        _for_a_while(query.numel() * 4 + of_rows)  # the query's in float32, and a number for each row
        return (*gradients, None)


def _fits_fused(query: Any, key: Any, value: Any, mask: Any, shared_heads: bool) -> bool:
    return (
        query.is_meta
        and query.dim() == key.dim() == value.dim() == 4
        and query.dtype in (torch.float32, torch.float16, torch.bfloat16)
        and query.dtype == key.dtype == value.dtype
        and query.shape[3] % 4 == 0
        and query.shape[3] <= 256
        and (shared_heads or query.shape[1] == key.shape[1])
        and (mask is None or not mask.requires_grad)
    )


def _narrow() -> Any:
    """What autocast makes of float32, if it is on."""
    device = registry.accelerator().type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None


def _attend(usual: Callable[..., Any]) -> Callable[..., Any]:
    def attend(
        query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
        scale: Any = None, enable_gqa: bool = False,
    ) -> Any:  # fmt: skip
        narrow = _narrow()
        parts = [query, key, value]
        if narrow is not None:
            parts = [each.to(narrow) if each.dtype == torch.float32 else each for each in parts]
        if not _fits_fused(parts[0], parts[1], parts[2], attn_mask, enable_gqa):
            return usual(
                query, key, value, attn_mask=attn_mask, dropout_p=dropout_p, is_causal=is_causal, scale=scale,
                enable_gqa=enable_gqa,
            )  # fmt: skip
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            attn_mask = torch.empty_like(attn_mask, dtype=parts[0].dtype)  # what is added to the scores
        return _Attention.apply(*parts, attn_mask)

    return attend


class _Dropout(torch.autograd.Function):
    """One kernel, which keeps a byte for each number."""

    @staticmethod
    def forward(ctx: Any, given: Any) -> Any:
        result = torch.empty_like(given)
        ctx.save_for_backward(torch.empty_like(given, dtype=torch.bool))
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return torch.empty_like(gradient)


class _Linear(torch.autograd.Function):
    """Rows that do not lie one after the other are copied and multiplied, and the bias is added to the product."""

    @staticmethod
    def forward(ctx: Any, given: Any, weight: Any, bias: Any) -> Any:
        rows = given.reshape(-1, given.shape[-1])
        ctx.save_for_backward(rows, weight)
        ctx.shape = given.shape
        return rows.mm(weight.t()).view(*given.shape[:-1], weight.shape[0])

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        rows, weight = ctx.saved_tensors
        dense = gradient.reshape(-1, gradient.shape[-1])
        needs = ctx.needs_input_grad
        of_bias = dense.sum(0) if needs[2] else None
        of_weight = dense.t().mm(rows) if needs[1] else None
        return (dense.mm(weight).view(ctx.shape) if needs[0] else None), of_weight, of_bias


def _multiply(usual: Callable[..., Any]) -> Callable[..., Any]:
    def multiply(given: Any, weight: Any, bias: Any = None) -> Any:
        if bias is None or given.dim() < 3 or given.is_contiguous() or not given.is_meta:
            return usual(given, weight, bias)
        narrow = _narrow()
        if narrow is not None:
            given, weight, bias = (each.to(narrow) for each in (given, weight, bias))
        if given.is_contiguous():
            return usual(given, weight, bias)
        return _Linear.apply(given, weight, bias)

    return multiply


def _cross(usual: Callable[..., Any]) -> Callable[..., Any]:
    """Under autocast the softmax stays narrow; only the loss of its logarithms is made of float32."""

    def cross(input: Any, target: Any, weight: Any = None, *rest: Any, **options: Any) -> Any:
        narrow = _narrow()
        classes = not target.is_floating_point() and not options.get("label_smoothing") and not rest
        if narrow is None or input.dtype != narrow or not classes or not input.is_meta:
            return usual(input, target, weight, *rest, **options)
        options.pop("label_smoothing", None)
        with torch.autocast("cuda", enabled=False):
            logarithms = torch.log_softmax(input, 0 if input.dim() == 1 else 1)
            return torch.nn.functional.nll_loss(logarithms.float(), target, weight, **options)

    return cross


def _drop(usual: Callable[..., Any]) -> Callable[..., Any]:
    def drop(given: Any, p: float, train: bool) -> Any:
        return _Dropout.apply(given) if train and 0 < p < 1 and given.is_meta else usual(given, p, train)

    return drop


@dataclass(frozen=True)
class _Layers:
    gates: int
    hidden: int
    layers: int
    directions: int
    trains: bool

    def reserve(self, steps: int, item: int) -> int:
        """The gates and the cell of every step, and what goes from layer to layer."""
        kept = self.layers * (self.gates + 1) + self.layers - 1
        return steps * self.hidden * self.directions * kept * item + 256

    def workspace(
        self, steps: int, batch: int, inputs: int, weights: int, item: int, in_one_kernel: bool
    ) -> int:
        """The products of all steps, input and result of a layer, the weights; for each layer states and parts of
        products."""
        hidden = self.hidden * (1 if self.directions == 1 else 7)
        row = self.gates * self.hidden * self.directions + inputs + hidden
        states = (8 if in_one_kernel else 11) * batch * self.hidden * item
        found = (steps * row + weights) * item + 1280
        found += (8 * _MEBI + states) * self.layers * self.directions
        return found + (steps * 2 * self.gates * self.hidden * 4 if in_one_kernel else 0)


class _Recurrent(torch.autograd.Function):
    """cuDNN's recurrent layers: of time, batch and features."""

    @staticmethod
    def forward(ctx: Any, layers: _Layers, flat: bool, given: Any, states: int, *tensors: Any) -> Any:
        hidden, weights = tensors[:states], tensors[states:]
        dense = given.contiguous()
        results = given.new_empty((*given.shape[:2], layers.hidden * layers.directions))
        last = [torch.empty_like(each) for each in hidden]
        numbers = sum(each.numel() for each in weights)
        matrices = sum(each.numel() for each in weights if each.dim() > 1)
        buffer = None if flat else given.new_empty((numbers,))
        item = given.element_size()
        steps = given.shape[0] * given.shape[1]
        whole = layers.layers == layers.directions == 1 and layers.hidden <= 1024
        whole = whole and layers.hidden % 128 == given.shape[2] % 128 == 0 and given.dtype == torch.float16
        whole = whole and given.shape[1] <= 128 and given.shape[1] % 8 == 0
        room = layers.workspace(steps, given.shape[1], given.shape[2], matrices, item, whole)
        workspace = given.new_empty((room,), dtype=torch.uint8)
        reserve = given.new_empty((layers.reserve(steps, item) if layers.trains else 0,), dtype=torch.uint8)
        del dense, workspace
        ctx.room, ctx.numbers = room, numbers
        ctx.save_for_backward(buffer, reserve, given, results.detach(), *hidden, *weights)
        ctx.states = states
        return (results, *last)

    @staticmethod
    def backward(ctx: Any, gradient: Any, *rest: Any) -> Any:
        _, _, given, _, *others = ctx.saved_tensors
        hidden, weights = others[: ctx.states], others[ctx.states :]
        dense, coming = given.contiguous(), gradient.contiguous()
        made = given.new_empty(given.shape)
        before = [torch.empty_like(each) for each in hidden]
        _for_a_while(ctx.room)
        del dense, coming
        dense = given.contiguous()
        flat = given.new_empty((ctx.numbers,))
        _for_a_while(ctx.room)
        del dense
        gradients = []
        for weight in weights:
            if weight.dtype == flat.dtype:
                with memory.uncounted():
                    part: Any = torch.empty_like(weight)
                part._lies_in = flat  # which lives as long as the last of its parts
                gradients.append(part)
            else:
                gradients.append(torch.empty_like(weight))
        return (None, None, made, None, *before, *gradients)


def _recur(usual: Callable[..., Any], gates: int) -> Callable[..., Any]:
    def recur(given: Any, state: Any, params: Any, *rest: Any) -> Any:
        if isinstance(params, torch.Tensor) or given.dim() != 3 or not given.is_meta:
            return usual(given, state, params, *rest)  # packed sequences
        _, layers, _, trains, both_ways, batch_first = rest
        states = list(state) if isinstance(state, (list, tuple)) else [state]
        flat = _narrow() is None
        if not flat:
            given, *states = (each.to(torch.float16) for each in (given, *states))
        if batch_first:
            given = given.transpose(0, 1)
        shape = _Layers(gates, states[0].shape[2], layers, 2 if both_ways else 1, trains)
        results, *last = _Recurrent.apply(shape, flat, given, len(states), *states, *params)
        return (results.transpose(0, 1) if batch_first else results, *last)

    return recur


def _in_one_buffer(usual: Callable[..., Any]) -> Callable[..., Any]:
    """Weights of recurrent layers move into one buffer when they are made."""

    def make(self: Any, *args: Any) -> None:
        usual(self, *args)
        weights = [each for each in self.parameters() if each.is_meta]
        if not weights:
            return
        buffer, at = weights[0].new_empty((sum(each.numel() for each in weights),)), 0
        for weight in weights:
            weight.data = buffer[at : at + weight.numel()].view(weight.shape)
            at += weight.numel()

    return make


@contextmanager
def running(gpu: Gpu | None = None) -> Iterator[None]:
    """Programs on ``meta`` take meanwhile what PyTorch takes on a GPU. Names of functions that PyTorch has fused ones
    for are given others, for the thread of backward and what is computed again there as well."""
    gates = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
    makers: dict[str, Callable[..., Any]] = {
        name: lambda function, number=number: _recur(function, number) for name, number in gates.items()
    }
    makers |= {"scaled_dot_product_attention": _attend, "dropout": _drop, "cross_entropy": _cross}
    makers["linear"] = _multiply
    makers["_make_weights"] = _in_one_buffer
    makers["in_one_kernel"] = lambda _: lambda params: False  # PyTorch's steps are operators over lists
    places: list[tuple[Any, str]] = [(_functions, name) for name in gates]
    places += [(torch, "dropout"), (torch.nn.RNNBase, "_make_weights"), (_lists, "in_one_kernel")]
    places += [(torch.nn.functional, "cross_entropy"), (torch.nn.functional, "linear")]
    places += [(module, "scaled_dot_product_attention") for module in (torch.nn.functional, _attention)]
    usual = [(module, name, getattr(module, name)) for module, name in places]
    try:
        for module, name, function in usual:
            setattr(module, name, makers[name](function))
        accelerator = registry.accelerator().type
        autocast_mode.stands_for["cuda"] = accelerator
        with memory.standing_for(accelerator, parts=False), _Operators(gpu or Gpu()):
            yield
    finally:
        autocast_mode.stands_for.pop("cuda", None)
        for module, name, function in usual:
            setattr(module, name, function)
