"""Recurrent networks over whole sequences. Single steps are in `rnn_cells`."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Callable
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

from ... import _C, _functions
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module
from .rnn_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _permuted(state: Tensor, permutation: Tensor | None) -> Tensor:
    """The batch of a state in another order."""
    return state if permutation is None else state.index_select(1, permutation)


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """The slices of a tensor in another order."""
    return tensor.index_select(dim, permutation)


class RNNBase(Module):
    """What LSTM, GRU and RNN share: the weights of every layer and direction, and the checks of inputs."""

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        _check_options(self, dropout)
        if mode not in _GATES:
            raise ValueError(f"Unrecognized RNN mode: {mode}")
        self._make_weights(device, dtype)
        self.reset_parameters()

    def _make_weights(self, device: Any, dtype: Any) -> None:
        gates = _GATES[self.mode] * self.hidden_size
        outputs = self.proj_size or self.hidden_size
        directions = 2 if self.bidirectional else 1
        self._all_weights: list[list[str]] = []
        for layer in range(self.num_layers):
            inputs = self.input_size if layer == 0 else outputs * directions
            for direction in range(directions):
                end = f"_l{layer}" + ("_reverse" if direction else "")
                shapes: dict[str, tuple[int, ...]] = {
                    f"weight_ih{end}": (gates, inputs),
                    f"weight_hh{end}": (gates, outputs),
                }
                if self.bias:
                    shapes[f"bias_ih{end}"] = shapes[f"bias_hh{end}"] = (gates,)
                if self.proj_size > 0:
                    shapes[f"weight_hr{end}"] = (self.proj_size, self.hidden_size)
                for name, shape in shapes.items():
                    setattr(self, name, Parameter(torch.empty(shape, device=device, dtype=dtype)))
                self._all_weights.append(list(shapes))

    def reset_parameters(self) -> None:
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights, by layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Any]:
        given = self.__dict__.get("_given_weights")
        if given is not None:
            weights: list[Any] = given[0]
            attributes: dict[str, Any] = given[1]
            if all(getattr(self, name, None) is value for name, value in attributes.items()):
                return weights
        return [getattr(self, name) for name in self._flat_weights_names]

    @_flat_weights.setter
    def _flat_weights(self, weights: list[Any]) -> None:
        """As in PyTorch: the module runs with these until one of its attributes is another."""
        attributes = {name: getattr(self, name, None) for name in self._flat_weights_names}
        self.__dict__["_given_weights"] = (weights, attributes)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        self.__dict__.pop("_given_weights", None)
        return super()._apply(fn, recurse)

    def __getstate__(self) -> dict[str, Any]:
        # PyTorch keeps the lists, so what it loads must have them.
        lists = {"_flat_weights_names": self._flat_weights_names, "_flat_weights": self._flat_weights}
        state = {**self.__dict__, **lists}
        state.pop("_given_weights", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        names = ("_flat_weights_names", "_flat_weights")
        super().__setstate__({key: value for key, value in state.items() if key not in names})

    def flatten_parameters(self) -> None:
        """For PyTorch's cuDNN, which wants the weights in one piece of memory. Nothing here does."""

    # --- checks, with PyTorch's names, because programs override them

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        weight = getattr(self, self._all_weights[0][0])
        if input.dtype != weight.dtype and not _C._is_any_autocast_enabled():
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert input: "
                f"input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def _batch(self, input: Tensor, batch_sizes: Tensor | None) -> int:
        if batch_sizes is not None:
            return int(batch_sizes[0])
        return input.size(0) if self.batch_first else input.size(1)

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        count = self.num_layers * (2 if self.bidirectional else 1)
        return count, self._batch(input, batch_sizes), self.proj_size or self.hidden_size

    def check_hidden_size(
        self,
        hx: Tensor,
        expected_hidden_size: tuple[int, int, int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        if tuple(hx.size()) != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        return _permuted(hx, permutation)

    # --- the run; a state is a tensor here and a pair for LSTM

    def _first_state(self, input: Tensor, batch: int) -> Any:
        count = self.num_layers * (2 if self.bidirectional else 1)
        shape = (count, batch, self.proj_size or self.hidden_size)
        return torch.zeros(shape, dtype=input.dtype, device=input.device)

    def _check_dims_of_state(self, hx: Any, batched: bool) -> None:
        dims = 3 if batched else 2
        if hx.dim() != dims:
            kind = "batched" if batched else "unbatched"
            raise RuntimeError(
                f"For {kind} {dims}-D input, hx should also be {dims}-D but got {hx.dim()}-D tensor"
            )

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """(outputs of the last layer at every step, last state of every layer)."""
        if isinstance(input, PackedSequence):
            data, batch_sizes, sorted_indices, unsorted_indices = input
            if hx is None:
                hx = self._first_state(data, int(batch_sizes[0]))
            else:
                hx = self.permute_hidden(hx, sorted_indices)
            output, last = self._run(data, hx, batch_sizes)
            packed = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
            return packed, self.permute_hidden(last, unsorted_indices)
        if input.dim() not in (2, 3):
            what = "tensor instead" if self.mode.startswith("RNN") else "instead"
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.dim()}D {what}"
            )
        batched = input.dim() == 3
        if hx is not None:
            self._check_dims_of_state(hx, batched)
        batch_dim = 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(batch_dim)
            hx = None if hx is None else _each(hx, lambda state: state.unsqueeze(1))
        if hx is None:
            hx = self._first_state(input, input.size(batch_dim))
        output, last = self._run(input, hx, None)
        if not batched:
            return output.squeeze(batch_dim), _each(last, lambda state: state.squeeze(1))
        return output, last

    def _run(self, input: Tensor, hx: Any, batch_sizes: Tensor | None) -> tuple[Tensor, Any]:
        self.check_forward_args(input, hx, batch_sizes)
        options = (self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        run = getattr(_functions, self.mode.lower())
        if batch_sizes is None:
            made = run(input, hx, self._flat_weights, *options, self.batch_first)
        else:
            made = run(input, batch_sizes, hx, self._flat_weights, *options)
        return made[0], made[1:] if isinstance(hx, tuple) else made[1]

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size != 0:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first is not False:
            text += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            text += f", bidirectional={self.bidirectional}"
        return text


def _each(state: Any, change: Any) -> Any:
    return tuple(change(s) for s in state) if isinstance(state, tuple) else change(state)


def _check_options(network: RNNBase, dropout: Any) -> None:
    for name in ("bias", "batch_first"):
        if not isinstance(value := getattr(network, name), bool):
            raise TypeError(f"{name} should be of type bool, got: {type(value).__name__}")
    if isinstance(dropout, bool) or not isinstance(dropout, numbers.Real) or not 0 <= float(dropout) <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
        )
    if network.dropout > 0 and network.num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
            f"num_layers greater than 1, but got dropout={dropout} and num_layers={network.num_layers}",
            stacklevel=4,
        )
    for name in ("input_size", "hidden_size"):
        if not isinstance(getattr(network, name), int):
            raise TypeError(f"{name} should be of type int, got: {type(getattr(network, name)).__name__}")
    for name in ("input_size", "hidden_size", "num_layers"):
        if getattr(network, name) <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if network.proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if network.proj_size >= network.hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


def _refuse_projection(options: dict[str, Any]) -> None:
    if "proj_size" in options:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(RNNBase):
    """Layers of ``tanh(W x + U h)``, or of relu with ``nonlinearity="relu"``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        # The fourth argument is the nonlinearity, which the base class does not have.
        if len(args) > 3:
            self.nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{self.nonlinearity.upper()}", *args, **kwargs)


class GRU(RNNBase):
    """Layers of gated recurrent units."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    """Layers of long short-term memory; the state is a pair (hidden, cell)."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        count = self.num_layers * (2 if self.bidirectional else 1)
        return count, self._batch(input, batch_sizes), self.hidden_size

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(
            hidden[0],
            self.get_expected_hidden_size(input, batch_sizes),
            "Expected hidden[0] size {}, got {}",
        )
        self.check_hidden_size(
            hidden[1], self.get_expected_cell_size(input, batch_sizes), "Expected hidden[1] size {}, got {}"
        )

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        return _permuted(hx[0], permutation), _permuted(hx[1], permutation)

    def _first_state(self, input: Tensor, batch: int) -> Any:
        count = self.num_layers * (2 if self.bidirectional else 1)
        cell = torch.zeros((count, batch, self.hidden_size), dtype=input.dtype, device=input.device)
        return super()._first_state(input, batch), cell

    def _check_dims_of_state(self, hx: Any, batched: bool) -> None:
        dims = 3 if batched else 2
        if hx[0].dim() != dims or hx[1].dim() != dims:
            kind = "batched" if batched else "unbatched"
            raise RuntimeError(
                f"For {kind} {dims}-D input, hx and cx should also be {dims}-D but got ({hx[0].dim()}-D, "
                f"{hx[1].dim()}-D) tensors"
            )

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        # A state may come as a list; only a tuple is told from a tensor below.
        return super().forward(input, None if hx is None else (hx[0], hx[1]))


# Files name these classes by the module that PyTorch has them in: this one.
for _kind in (GRUCell, LSTMCell, RNNCell, RNNCellBase):
    _kind.__module__ = __name__
