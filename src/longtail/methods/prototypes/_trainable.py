"""Networks in training: the encoder of sparse rows, the decoder, and the user's own modules.

Each has `parameters()` for the optimiser, `train(bool)`, and `tensors()` for copies of its state.
torch is imported when one is made, never before.
"""

from __future__ import annotations

import copy
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import ParameterError
from longtail.methods.prototypes._network_kernels import add_to_features, clear_features
from longtail.methods.prototypes.network import Encoder, OwnEncoder, import_torch

Units = Literal["random", "points"]
Decoder = Literal["linear", "layers"]

SMALL = 0.14  # initial size of a random hidden unit; ten times as much learns far more slowly
NOISE = 0.005  # size of the noise between units of equal points
RIDGE = 1e-3  # on the last layer, as a share of the mean square of a hidden unit
SOLVED_ROWS = 2048  # rows per block when the last layer is solved
DENSE_FROM = 0.2  # share of non-zeros from which a mini-batch is multiplied as a dense matrix


class SparseEncoder:
    """The default encoder: mini-batches of sparse rows enter the first layer as sparse.

    Random hidden units begin small, of size `SMALL` for any scale of the features, so that learning
    soon outweighs the initial values; the second layer's weights have variance 1 / hidden. Units
    that are training points begin as large as a row; `solve` then finds the second layer.

    A mini-batch has few of the features, so on a CPU the gradient of the first layer stays in one
    array and only the rows of these features are written. torch would fill a new array as large as
    the layer at every step, which takes longer than all the rest. The sums equal torch's, bit for
    bit.
    """

    def __init__(
        self, X: sp.csr_array, hidden: int, n_bits: int, device: Any, units: Units = "random"
    ) -> None:
        torch = import_torch()
        n, n_features = X.shape
        self._dense = X.nnz >= DENSE_FROM * n * n_features
        self._device = device
        size = np.sqrt(float(np.square(X.data, dtype=np.float64).sum()) / max(n, 1)) or 1.0
        first = torch.randn(n_features, hidden) * ((SMALL if units == "random" else NOISE) / size)
        shift = torch.zeros(hidden)
        if units == "points":
            shift = _add_points(first, X, 1.0 / size**2)
        second = torch.randn(hidden, n_bits) / np.sqrt(hidden)
        weights = [first, shift, second, torch.zeros(n_bits)]
        self._weights = [w.to(device=device, dtype=torch.float32).requires_grad_() for w in weights]
        self._slopes: Any = None  # the gradient of the first layer
        self._sloping = np.empty(0, dtype=np.int64)  # features whose rows are not zero there

    def __call__(self, X: sp.csr_array) -> Any:
        _, _, second, bias = self._weights
        return self._hidden(X) @ second + bias

    def _hidden(self, X: sp.csr_array) -> Any:
        torch = import_torch()
        first, shift, _, _ = self._weights
        if self._dense:
            rows = torch.from_numpy(np.asarray(X.toarray(), dtype=np.float32)).to(self._device)
            return torch.relu(rows @ first + shift)
        features = torch.from_numpy(X.indices.astype(np.int64))
        values = torch.from_numpy(X.data.astype(np.float32))
        ours = first.device.type == "cpu" and torch.is_grad_enabled()
        with torch.set_grad_enabled(torch.is_grad_enabled() and not ours):
            hidden = torch.nn.functional.embedding_bag(
                features.to(self._device),
                first,
                torch.from_numpy(X.indptr[:-1].astype(np.int64)).to(self._device),
                mode="sum",
                per_sample_weights=values.to(self._device),
            )
        if ours:
            points = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
            hidden.requires_grad_()
            hidden.register_hook(partial(self._slope, features, points, values.numpy()))
        return torch.relu(hidden + shift)

    def _slope(
        self, features: Any, points: NDArray[Any], values: NDArray[np.float32], slopes: Any
    ) -> None:
        """Set the gradient of the first layer, given that of the sums it makes of a mini-batch."""
        torch = import_torch()
        first = self._weights[0]
        if self._slopes is None:
            self._slopes = torch.zeros_like(first, requires_grad=False)
        in_order, order = (part.numpy() for part in torch.sort(features))
        out = self._slopes.numpy()
        if first.grad is None:
            clear_features(self._sloping, out)
            self._sloping = in_order
        else:  # the same step already had another mini-batch
            self._sloping = np.union1d(self._sloping, in_order)
        add_to_features(in_order, order, points, values, slopes.contiguous().numpy(), out)
        first.grad = self._slopes

    def solve(self, X: sp.csr_array, wanted: NDArray[np.int8]) -> None:
        """Solve the second layer by least squares, given the hidden units.

        With a ridge of `RIDGE` of the mean square of a hidden unit. O(n·hidden² + hidden³), and
        24·hidden² bytes.
        """
        torch = import_torch()
        _, _, second, bias = self._weights
        n, width = X.shape[0], second.shape[0]
        square = np.zeros((width + 1, width + 1))
        products = np.zeros((width + 1, second.shape[1]))
        with torch.no_grad():
            for start in range(0, n, SOLVED_ROWS):
                units = self._hidden(X[start : start + SOLVED_ROWS])
                units = torch.hstack([units, torch.ones(len(units), 1, device=self._device)])
                codes = torch.from_numpy(wanted[start : start + SOLVED_ROWS].astype(np.float32))
                square += (units.T @ units).cpu().numpy()
                products += (units.T @ codes.to(self._device)).cpu().numpy()
            diagonal = np.einsum("ii->i", square)
            diagonal[:-1] += RIDGE * diagonal[:-1].mean() + np.finfo(np.float64).tiny
            solved = scipy.linalg.solve(square, products, assume_a="pos")
            second.copy_(torch.from_numpy(solved[:-1]))
            bias.copy_(torch.from_numpy(solved[-1]))

    def parameters(self) -> list[Any]:
        return self._weights

    def train(self, on: bool) -> None:
        """Does nothing: training and prediction are the same here."""

    def tensors(self) -> dict[str, NDArray[Any]]:
        return {str(i): _copied(w) for i, w in enumerate(self._weights)}

    def restore(self, tensors: dict[str, NDArray[Any]]) -> None:
        torch = import_torch()
        with torch.no_grad():
            for i, weight in enumerate(self._weights):
                weight.copy_(torch.from_numpy(np.array(tensors[str(i)])))

    def frozen(self) -> Encoder:
        """A copy as it is now, for prediction."""
        return Encoder.of_weights(*(w.detach().cpu().numpy() for w in self._weights))


def _add_points(first: Any, X: sp.csr_array, scale: float) -> Any:
    """Add rows drawn at random to the units (D, hidden), in place; their shifts.

    A unit is then active for rows that are more similar to its own row than the average row is. If
    there are fewer rows than units, the other units stay unchanged.
    """
    torch = import_torch()
    drawn = X[torch.randperm(X.shape[0])[: first.shape[1]].numpy()]
    numbers = np.repeat(np.arange(drawn.shape[0]), np.diff(drawn.indptr))
    values = torch.from_numpy((scale * drawn.data).astype(np.float32))
    first[torch.from_numpy(drawn.indices.astype(np.int64)), torch.from_numpy(numbers)] += values
    mean = torch.from_numpy(np.asarray(X.mean(axis=0), dtype=np.float32).ravel())
    return -(mean @ first)


class Module:
    """A `torch.nn.Module`, the user's own or the default decoder, copied before it is trained."""

    def __init__(self, module: Any, device: Any) -> None:
        self.module = copy.deepcopy(module).to(device)
        self._device = device

    def __call__(self, rows: Any) -> Any:
        torch = import_torch()
        if sp.issparse(rows):
            rows = torch.from_numpy(np.asarray(rows.toarray(), dtype=np.float32))
        return self.module(rows.to(self._device))

    def parameters(self) -> list[Any]:
        return [p for p in self.module.parameters() if p.requires_grad]

    def train(self, on: bool) -> None:
        self.module.train(on)

    def tensors(self) -> dict[str, NDArray[Any]]:
        return {name: _copied(tensor) for name, tensor in self.module.state_dict().items()}

    def restore(self, tensors: dict[str, NDArray[Any]]) -> None:
        torch = import_torch()
        self.module.load_state_dict({k: torch.from_numpy(np.array(v)) for k, v in tensors.items()})

    def frozen_as(self, n_features: int, n_bits: int) -> OwnEncoder:
        """A copy as it is now, for prediction."""
        module = copy.deepcopy(self.module).train(False)
        return OwnEncoder(self.tensors(), n_features, n_bits, module)


def make_encoder(
    X: sp.csr_array, own: Any, hidden: int, n_bits: int, device: Any, units: Units = "random"
) -> Any:
    """The encoder to train, checked."""
    if own is None:
        return SparseEncoder(X, hidden, n_bits, device, units)
    encoder = Module(_checked_module(own, "encoder", "None or "), device)
    _check_output(encoder, X[: min(2, X.shape[0])], n_bits, "encoder", "n_bits is")
    return encoder


def make_decoder(
    n_bits: int, kind: Decoder | Any, hidden: int, n_labels: int, device: Any
) -> Module:
    """The decoder to train, checked: one of our kinds, or the user's own module."""
    torch = import_torch()
    nn = torch.nn
    if kind == "linear":
        return Module(nn.Linear(n_bits, n_labels), device)
    if kind == "layers":
        layers = nn.Sequential(nn.Linear(n_bits, hidden), nn.ReLU(), nn.Linear(hidden, n_labels))
        return Module(layers, device)
    decoder = Module(_checked_module(kind, "decoder", "'linear', 'layers' or "), device)
    _check_output(decoder, torch.ones(2, n_bits), n_labels, "decoder", "the labels are")
    return decoder


def _checked_module(own: Any, name: str, others: str) -> Any:
    if not isinstance(own, import_torch().nn.Module):
        shown = repr(own) if isinstance(own, str) else type(own).__name__
        raise ParameterError(f"{name} must be {others}a torch.nn.Module, not {shown}.")
    return own


def _check_output(network: Module, rows: Any, wanted: int, name: str, what: str) -> None:
    """Test a network on two rows before training."""
    torch = import_torch()
    network.train(False)
    try:
        with torch.no_grad():
            out = network(rows)
    except Exception as error:
        raise ParameterError(
            f"The {name} fails on a mini-batch of shape {tuple(rows.shape)}: "
            f"{str(error).splitlines()[0] if str(error) else type(error).__name__}."
        ) from error
    if tuple(out.shape) != (rows.shape[0], wanted):
        raise ParameterError(
            f"The {name} gives an output of shape {tuple(out.shape)} for {rows.shape[0]} rows, but "
            f"{what} {wanted}; its last layer must have {wanted} outputs."
        )


def _copied(tensor: Any) -> NDArray[Any]:
    return np.array(tensor.detach().cpu().numpy())
