"""Encoders after training, which turn a point into a code; the default needs no torch.

The default encoder f has two fully connected layers, f(x) = relu(x W₁ + b₁) W₂ + b₂, and the code
of x is the sign of f(x). The user's own network is a `torch.nn.Module`. A module is code, so only
its tensors are stored; the user gives the module back after loading.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail import store
from longtail._numba import read_only
from longtail.errors import MissingExtraError, ModelError, ParameterError
from longtail.methods.prototypes._network_kernels import encode_rows
from longtail.methods.prototypes.codes import packed
from longtail.runtime.turns import in_every_child

UNITS = 64  # hidden units of a band of the first layer
LARGEST = 4096  # hidden units of the paper's networks
SMALLEST = 64
CHUNK = 512  # rows per block for the user's own module
COPIES = 3  # of the encoder: the best so far, the one in use, and the next one


def import_torch() -> Any:
    """The module torch, or an error that says how to install it."""
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise MissingExtraError("Deep binary prototypes", package="torch", extra="deep") from None


@in_every_child
def _one_thread() -> None:
    """torch's threads are not there after a fork; work for several would wait for them for good."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def default_hidden(n_points: int) -> int:
    """Hidden units for so many training points: the paper's 4,096 if there are four times as many.

    Otherwise half of that, and no more than the largest power of two up to the number of points,
    but at least 64.

    Examples
    --------
    >>> [default_hidden(n) for n in (10, 300, 12_920, 16_384)]
    [64, 256, 2048, 4096]
    """
    limit = LARGEST if n_points >= 4 * LARGEST else LARGEST // 2
    return min(max(1 << (max(n_points, 1).bit_length() - 1), SMALLEST), limit)


def decoder_weights(n_labels: int, hidden: int, n_bits: int, decoder: str) -> int:
    """How many weights a kind of decoder has, without its biases.

    Examples
    --------
    >>> decoder_weights(983, 4096, 128, "linear"), decoder_weights(983, 4096, 128, "layers")
    (125824, 4550656)
    """
    return n_bits * n_labels if decoder == "linear" else hidden * (n_bits + n_labels)


def network_bytes(n_features: int, n_labels: int, hidden: int, n_bits: int, decoder: str) -> int:
    """Bytes of networks in training: weights, gradients, two moments, and the best encoder.

    Examples
    --------
    >>> network_bytes(5000, 4000, 4096, 128, "layers") / 1e9 < 1
    True
    """
    encoding = (4 + COPIES) * hidden * (n_features + n_bits)
    return 4 * (encoding + 4 * decoder_weights(n_labels, hidden, n_bits, decoder))


@store.register
class Encoder:
    """The default encoder, ready to predict.

    `tiles` (bands, D, units) is W₁ cut into bands of hidden units, see `Encoder.of_weights`;
    `shifts` (bands, units) b₁, `second` (bands · units, d) W₂, `bias` (d,) b₂, all float32.

    Notes
    -----
    A row costs O(nnz(x)·hidden + hidden·d). Sums are taken in float32 in an order that depends on
    the row alone, so a point has the same code whatever the other points, on any thread.

    Examples
    --------
    >>> W1, W2 = np.array([[1.0, -1.0]]), np.array([[1.0, 0.0], [0.0, -2.0]])
    >>> encoder = Encoder.of_weights(W1, np.zeros(2), W2, np.zeros(2))
    >>> encoder.values(sp.csr_array([[3.0], [-1.0]])).tolist()
    [[3.0, 0.0], [0.0, -2.0]]
    """

    stored_as: ClassVar[str] = "binary-encoder"

    def __init__(
        self,
        tiles: NDArray[np.float32],
        shifts: NDArray[np.float32],
        second: NDArray[np.float32],
        bias: NDArray[np.float32],
    ) -> None:
        self.tiles, self.shifts, self.second, self.bias = tiles, shifts, second, bias

    @classmethod
    def of_weights(
        cls, first: NDArray[Any], shift: NDArray[Any], second: NDArray[Any], bias: NDArray[Any]
    ) -> Self:
        """From the layers as matrices: W₁ (D, hidden), b₁, W₂ (hidden, d), b₂. Copies them."""
        n_features, hidden = first.shape
        bands = -(-hidden // UNITS)
        tiles = np.zeros((bands, n_features, UNITS), dtype=np.float32)
        shifts = np.zeros((bands, UNITS), dtype=np.float32)
        rows = np.zeros((bands * UNITS, second.shape[1]), dtype=np.float32)
        for band in range(bands):
            span = slice(band * UNITS, min((band + 1) * UNITS, hidden))
            tiles[band, :, : span.stop - span.start] = first[:, span]
            shifts[band, : span.stop - span.start] = shift[span]
        rows[:hidden] = second
        return cls(tiles, shifts, rows, np.array(bias, dtype=np.float32))

    @property
    def n_features(self) -> int:
        """D."""
        return int(self.tiles.shape[1])

    @property
    def n_bits(self) -> int:
        """d."""
        return int(self.second.shape[1])

    @property
    def nbytes(self) -> int:
        """Bytes of the weights."""
        return sum(part.nbytes for part in (self.tiles, self.shifts, self.second, self.bias))

    def values(self, X: sp.csr_array) -> NDArray[np.float32]:
        """f(X), (n, d), in float32."""
        out = np.empty((X.shape[0], self.n_bits), dtype=np.float32)
        encode_rows(
            X.indptr.astype(np.int64), X.indices, X.data, 0, X.shape[0],
            read_only(self.tiles), read_only(self.shifts), read_only(self.second),
            read_only(self.bias), out,
        )  # fmt: skip
        return out

    def codes(self, X: sp.csr_array) -> NDArray[np.uint64]:
        """The packed codes of the rows of X; a value of exactly zero counts as positive."""
        return packed(np.where(self.values(X) >= 0, 1, -1))

    def to_state(self) -> dict[str, Any]:
        """For the store."""
        return {
            "tiles": self.tiles, "shifts": self.shifts, "second": self.second, "bias": self.bias,
        }  # fmt: skip

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The encoder; raises `ModelError` if its parts do not fit."""
        parts = [state.get(name) for name in ("tiles", "shifts", "second", "bias")]
        if not all(isinstance(a, np.ndarray) and a.dtype == np.float32 for a in parts):
            raise ModelError("The weights of the encoder are not what they should be.")
        tiles, shifts, second, bias = parts
        if (
            [a.ndim for a in parts] != [3, 2, 2, 1]  # type: ignore[union-attr]
            or shifts.shape != (tiles.shape[0], tiles.shape[2])  # type: ignore[union-attr]
            or second.shape != (shifts.size, len(bias))  # type: ignore
            or not all(np.isfinite(a).all() for a in parts)  # type: ignore[arg-type]
        ):
            raise ModelError("The layers of the encoder do not fit each other; it was altered.")
        return cls(*parts)  # type: ignore[arg-type]


@store.register
class OwnEncoder:
    """The user's own encoder: a trained `torch.nn.Module`, stored by its tensors.

    `tensors` is the module's `state_dict`, as numpy arrays; `module` is None after loading, until
    `attach` is called.
    """

    stored_as: ClassVar[str] = "own-encoder"

    def __init__(
        self, tensors: dict[str, NDArray[Any]], n_features: int, n_bits: int, module: Any = None
    ) -> None:
        self.tensors, self.n_features, self.n_bits = tensors, n_features, n_bits
        self.module = module

    @property
    def nbytes(self) -> int:
        """Bytes of the tensors."""
        return sum(array.nbytes for array in self.tensors.values())

    def attach(self, module: Any) -> None:
        """Put the stored tensors into a module built like the one that was trained."""
        torch = import_torch()
        if not isinstance(module, torch.nn.Module):
            raise ParameterError("An encoder must be a torch.nn.Module.")
        tensors = {name: torch.from_numpy(np.array(a)) for name, a in self.tensors.items()}
        try:
            module.load_state_dict(tensors)
        except RuntimeError as error:
            raise ParameterError(
                "The module does not have the tensors of the encoder that was trained; build it as "
                f"it was then ({str(error).splitlines()[-1].strip()})."
            ) from None
        self.module = module.train(False)

    def values(self, X: sp.csr_array) -> NDArray[np.float32]:
        """f(X), (n, d); some hundreds of dense rows at a time."""
        if self.module is None:
            raise ModelError(
                "This model was trained with an encoder of your own, of which only the numbers are "
                "stored; build the module again and give it to attach_encoder first."
            )
        torch = import_torch()
        device = next((p.device for p in self.module.parameters()), torch.device("cpu"))
        parts = []
        with torch.no_grad():
            for first in range(0, X.shape[0], CHUNK):
                rows = np.asarray(X[first : first + CHUNK].toarray(), dtype=np.float32)
                parts.append(self.module(torch.from_numpy(rows).to(device)).cpu().numpy())
        return np.concatenate(parts)

    def codes(self, X: sp.csr_array) -> NDArray[np.uint64]:
        """The packed codes of the rows of X; a value of exactly zero counts as positive."""
        return packed(np.where(self.values(X) >= 0, 1, -1))

    def to_state(self) -> dict[str, Any]:
        """For the store."""
        return {"tensors": self.tensors, "n_features": self.n_features, "n_bits": self.n_bits}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The encoder; raises `ModelError` if its parts do not fit."""
        tensors = state.get("tensors")
        sizes = (state.get("n_features"), state.get("n_bits"))
        if (
            not isinstance(tensors, dict)
            or not all(isinstance(a, np.ndarray) for a in tensors.values())
            or not all(type(size) is int and size > 0 for size in sizes)
        ):
            raise ModelError("The tensors of the encoder are not what they should be.")
        return cls(tensors, *sizes)  # type: ignore[arg-type]
