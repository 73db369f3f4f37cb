"""Algorithm 2: the encoder, the decoder and the codes of the prototypes, learned in turns.

The decoder sees a code only through its prototype, so its loss over the n points is one over the m
prototypes: over a cluster of n_c points with mean v_c,

    Σ ‖y_i - g(b_c)‖² = n_c ‖v_c - g(b_c)‖² + Σ ‖y_i - v_c‖²,

and the last sum does not depend on g or b. The g step, and its part of the B step, therefore run
over the distinct prototypes, weighted by their sizes: exact, and n / m times cheaper.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import ParameterError
from longtail.methods.prototypes._rows import held_out, mini_batches, prototype_count, steps_of
from longtail.methods.prototypes._trainable import Module, make_decoder, make_encoder
from longtail.methods.prototypes.codes import (
    code_step,
    linear_part,
    orthogonal_targets,
    packed,
    principal_targets,
    projected_targets,
    sign,
    weighted_labels,
)
from longtail.methods.prototypes.label_groups import LabelGroups, group_label_sets
from longtail.methods.prototypes.network import default_hidden, import_torch
from longtail.runtime.checkpoint import LatestState, fingerprint
from longtail.runtime.executor import in_blocks
from longtail.runtime.run import Run
from longtail.search import NUMBERS_OF_NEIGHBORS, choose_voting, vote_in_parts
from longtail.search.hamming import nearest_codes

if TYPE_CHECKING:
    from longtail.methods.prototypes.deep_binary_prototypes import DeepBinaryPrototypes

CODE_ITERATIONS = 5  # of (13) per round; the next round continues
ROWS = 1024  # points per piece of work of the encoder
ENTRIES = 2**20  # numbers of the decoder's output per block of the B step
NETWORKS = ("encoder", "decoder")


@dataclass
class Training:
    """The result of Algorithm 2.

    `encoder` f and `codes` B are of the best round; `groups` are V and H of `rows`, all but the
    held-out ones. `history` has one row per round: the three parts of the objective (8), of the
    labels, the codes and their orthogonality, the example-F1 on the held-out rows (NaN without)
    with the best number of neighbours and threshold, and the bits that the B step flipped.
    `best_round` is the row with the highest F1; the last one where no rows were held out.
    """

    encoder: Any
    codes: NDArray[np.int8]
    groups: LabelGroups
    rows: NDArray[np.int64]
    history: NDArray[np.float64]
    best_round: int


def train_prototypes(
    X: sp.csr_array, Y: sp.csr_array, settings: DeepBinaryPrototypes, run: Run | None = None
) -> Training:
    """Algorithm 2 on sparse X and Y, which are never made dense as a whole.

    Of `settings` only the parameters are read.

    Notes
    -----
    A round costs O(T·batch·(nnz per row·hidden + hidden·d)) for the f steps, O(m·d·L) for a pass of
    the g steps and for each iteration of the B step (O(m·hidden·(d + L)) if the decoder has
    layers), and O(nnz(X)·hidden + n·hidden·d) to encode all points.

    Examples
    --------
    >>> Y = sp.csr_array(np.eye(4)[np.arange(40) % 4])
    >>> from longtail import DeepBinaryPrototypes
    >>> found = train_prototypes(Y, Y, DeepBinaryPrototypes(n_bits=8, max_rounds=2))
    >>> found.codes.shape, found.history.shape
    ((4, 8), (2, 7))
    """
    return _Trainer(X, Y, settings, run or Run()).result()


@dataclass
class _State:
    """Everything that changes from round to round, for checkpoints."""

    codes: NDArray[np.int8]
    targets: NDArray[Any]
    history: list[list[float]] = field(default_factory=list)
    best_round: int = -1
    best_codes: NDArray[np.int8] | None = None
    best_encoder: dict[str, NDArray[Any]] = field(default_factory=dict)


class _Trainer:
    def __init__(
        self, X: sp.csr_array, Y: sp.csr_array, settings: DeepBinaryPrototypes, run: Run
    ) -> None:
        torch = import_torch()
        self.settings, self.run = settings, run
        self.device = _device(settings.device)
        kept, aside = held_out(X.shape[0], settings.validation, settings._seed)
        self.rows = kept
        m = prototype_count(X.shape[0], settings.ratio)
        hidden = settings.hidden or default_hidden(X.shape[0])
        identity = None if run.checkpoint is None else _identity(X, Y, settings)
        self.X, self.Y = X[kept], Y[kept]
        self.aside = (X[aside], sp.csr_array(Y[aside])) if len(aside) else None
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings._seed)
            self.encoder = make_encoder(
                self.X, settings.encoder, hidden, settings.n_bits, self.device, settings.units
            )
            self.decoder = make_decoder(
                settings.n_bits, settings.decoder, hidden, Y.shape[1], self.device
            )
        self.optimisers = [
            _adam(network.parameters(), settings.learning_rate)
            for network in (self.encoder, self.decoder)
        ]
        self.groups = group_label_sets(
            self.Y, min(m, len(kept)), random_state=settings._seed, n_jobs=settings.n_jobs
        )
        self.m = self.groups.means.shape[0]
        if settings.n_neighbors is not None and settings.n_neighbors > self.m:
            raise ParameterError(
                f"n_neighbors is {settings.n_neighbors}, but there are only {self.m} prototypes; "
                "take fewer neighbours or a larger ratio."
            )
        self.states = LatestState(run, lambda: identity or "")

    # ---- the algorithm -----------------------------------------------------------------------

    def result(self) -> Training:
        settings = self.settings
        start = principal_targets if settings.start == "pca" else projected_targets
        means = weighted_labels(self.groups.means, self.groups.sizes, settings.rarity)
        targets = start(means, settings.n_bits, random_state=settings._seed)
        state = _State(sign(targets), targets)
        solvable = settings.units == "points" and not isinstance(self.encoder, Module)
        if not self.states.read(partial(self._resume, state)) and solvable:
            self.encoder.solve(self.X, state.codes[self.groups.members])
        self._tell(state)
        while len(state.history) < settings.max_rounds and not self._converged(state):
            self._round(state)
            self.states.write(partial(self._arrays, state))
            self._tell(state)
        if state.best_codes is None:
            raise AssertionError("no round was run")
        self.encoder.restore(state.best_encoder)
        return Training(
            encoder=self._frozen(),
            codes=state.best_codes,
            groups=self.groups,
            rows=self.rows,
            history=np.array(state.history),
            best_round=state.best_round,
        )

    def _round(self, state: _State) -> None:
        torch, settings = import_torch(), self.settings
        number = len(state.history)
        rng = np.random.default_rng([settings._seed, 2, number])
        steps = settings.steps or steps_of(self.X.shape[0], settings.batch_size)
        decodes = settings.learning == "joint"
        self._slow_down(number)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(2**62)))
            self._encoder_steps(state.codes, steps, rng)
            if decodes:
                self._decoder_steps(state.codes, -(-steps // 2), rng)
        values = self._encoded(self.X)
        decoding = partial(decoding_of, self.decoder, self.groups, device=self.device)
        flipped = 0
        if settings.learning != "fixed-codes" and number >= settings.warmup:
            linear = linear_part(
                self._sums(values), state.targets, mu=settings.mu, alpha=settings.alpha
            )
            step = code_step(
                state.codes, decoding if decodes else None, linear,
                tau=settings.tau, max_iter=CODE_ITERATIONS,
            )  # fmt: skip
            state.codes, flipped = step.codes, step.flipped
            state.targets = orthogonal_targets(state.codes)
        parts = self._objective(state, values, decodes)
        f1, k, threshold = self._validated(state.codes)
        state.history.append([*parts, f1, k, threshold, flipped])
        if self.aside is None or f1 > max((row[3] for row in state.history[:-1]), default=-1.0):
            state.best_round, state.best_codes = number, state.codes
            state.best_encoder = self.encoder.tensors()

    def _encoder_steps(self, codes: NDArray[np.int8], steps: int, rng: Any) -> None:
        """Steps 5 to 9: f towards the codes of the points' prototypes, by (9)."""
        torch = import_torch()
        self.encoder.train(True)
        for batch in mini_batches(self.X.shape[0], self.settings.batch_size, steps, rng):
            wanted = codes[self.groups.members[batch]].astype(np.float32)
            error = self.encoder(self.X[batch]) - torch.from_numpy(wanted).to(self.device)
            self._descend(0, error.square().mean())
        self.encoder.train(False)

    def _decoder_steps(self, codes: NDArray[np.int8], steps: int, rng: Any) -> None:
        """Steps 10 to 14: g towards the labels of the prototypes, by (10), weighted by size."""
        torch = import_torch()
        self.decoder.train(True)
        means, sizes = self.groups.means, self.groups.sizes.astype(np.float32)
        for batch in mini_batches(self.m, self.settings.batch_size, steps, rng):
            wanted = torch.from_numpy(means[batch].toarray()).to(self.device)
            weights = torch.from_numpy(sizes[batch] / sizes[batch].sum()).to(self.device)
            out = self.decoder(torch.from_numpy(codes[batch].astype(np.float32)))
            self._descend(1, ((out - wanted).square().sum(dim=1) * weights).sum())
        self.decoder.train(False)

    def _slow_down(self, number: int) -> None:
        """Steps that shrink from round to round, so that the networks settle."""
        share = 1.0 - number / self.settings.max_rounds
        for optimiser in self.optimisers:
            for group in optimiser.param_groups:
                group["lr"] = self.settings.learning_rate * share

    def _descend(self, which: int, loss: Any) -> None:
        self.optimisers[which].zero_grad(set_to_none=True)
        loss.backward()
        self.optimisers[which].step()

    def _sums(self, values: NDArray[np.float32]) -> NDArray[np.float64]:
        """FH', transposed: the encoder's values summed over each cluster."""
        members = self.groups.members
        n = len(members)
        member = sp.csr_array((np.ones(n), members, np.arange(n + 1)), shape=(n, self.m))
        return np.asarray(member.T @ values, dtype=np.float64)

    # ---- looking at it -----------------------------------------------------------------------

    def _encoded(self, X: sp.csr_array) -> NDArray[np.float32]:
        """f(X) of all rows."""
        parts = in_blocks(self._frozen().values, X, size=ROWS, n_jobs=self.settings.n_jobs)
        return np.concatenate(parts)

    def _objective(
        self, state: _State, values: NDArray[np.float32], decodes: bool
    ) -> tuple[float, float, float]:
        """The three parts of (8): of the labels, μ‖F - BH‖², of orthogonality."""
        settings, groups = self.settings, self.groups
        labels = float(groups.distances.sum())
        if decodes:
            values_there, _ = decoding_of(self.decoder, groups, state.codes, self.device)
            squares = groups.means.multiply(groups.means).sum(axis=1)
            labels += float(np.asarray(squares).ravel() @ groups.sizes) + 2 * values_there.sum()
        away = settings.alpha * float(np.square(state.codes - state.targets).sum())
        apart = np.square(values - state.codes[groups.members], dtype=np.float64)
        return labels, settings.mu * float(apart.sum()), away

    def _validated(self, codes: NDArray[np.int8]) -> tuple[float, int, float]:
        """Best example-F1 on the held-out rows, with its number of neighbours and threshold."""
        settings = self.settings
        sizes = [k for k in NUMBERS_OF_NEIGHBORS if k <= self.m]
        if settings.n_neighbors is not None:
            sizes = [settings.n_neighbors]
        if self.aside is None:
            return np.nan, sizes[0], 0.5 if settings.threshold is None else settings.threshold
        X, truth = self.aside
        queries = packed(np.where(self._encoded(X) >= 0, 1, -1))
        found = nearest_codes(queries, packed(codes), max(sizes)).indices
        chosen = choose_voting(
            lambda k: vote_in_parts(self.groups.means, found[:, :k]), truth,
            numbers_of_neighbors=sizes, threshold=settings.threshold,
        )  # fmt: skip
        return float(chosen.f1.max()), chosen.n_neighbors, chosen.threshold

    def _frozen(self) -> Any:
        if isinstance(self.encoder, Module):
            return self.encoder.frozen_as(self.X.shape[1], self.settings.n_bits)
        return self.encoder.frozen()

    def _converged(self, state: _State) -> bool:
        if len(state.history) < 2:
            return False
        before, now = (sum(row[:3]) for row in state.history[-2:])
        return abs(before - now) <= self.settings.tol * abs(before)

    def _tell(self, state: _State) -> None:
        what = "rounds"
        if state.history:
            row = state.history[-1]
            shown = "" if np.isnan(row[3]) else f", example-F1 {row[3]:.4f}"
            what = f"rounds (objective {sum(row[:3]):.6g}{shown})"
        self.run.report(what, len(state.history), self.settings.max_rounds)

    # ---- checkpoints -------------------------------------------------------------------------

    def _arrays(self, state: _State) -> dict[str, Any]:
        """The whole state, for a checkpoint."""
        arrays = {
            "codes": state.codes,
            "targets": state.targets,
            "history": np.array(state.history),
            "best_round": np.array([state.best_round]),
            "best_codes": state.best_codes,
        }
        arrays |= {f"best.{name}": a for name, a in state.best_encoder.items()}
        for which, network in enumerate((self.encoder, self.decoder)):
            arrays |= {f"network{which}.{name}": a for name, a in network.tensors().items()}
            for i, moments in self.optimisers[which].state_dict()["state"].items():
                arrays |= {
                    f"optimiser{which}.{i}.{name}": np.array(t.detach().cpu().numpy())
                    for name, t in moments.items()
                }
        return arrays

    def _resume(self, state: _State, arrays: dict[str, NDArray[Any]]) -> bool:
        """Continue from a checkpoint."""
        torch = import_torch()
        state.codes, state.targets = arrays["codes"], arrays["targets"]
        state.history = arrays["history"].tolist()
        state.best_round = int(arrays["best_round"][0])
        state.best_codes = arrays["best_codes"]
        state.best_encoder = _under(arrays, "best.")
        for which, network in enumerate((self.encoder, self.decoder)):
            network.restore(_under(arrays, f"network{which}."))
            moments: dict[int, dict[str, Any]] = {}
            for name, a in _under(arrays, f"optimiser{which}.").items():
                i, _, key = name.partition(".")
                moments.setdefault(int(i), {})[key] = torch.from_numpy(np.array(a))
            saved = self.optimisers[which].state_dict()
            self.optimisers[which].load_state_dict(saved | {"state": moments})
        return True


def decoding_of(
    decoder: Any, groups: LabelGroups, codes: NDArray[np.int8], device: Any = "cpu"
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Tr(½G'G - Y'G) of (11) for all points, and its gradient by the codes, ∇₁H' transposed.

    Both run over the prototypes: n_c (½‖g(b_c)‖² - v_c'g(b_c)) is the part of each, and they add
    up. O(m) passes of the decoder.
    """
    torch = import_torch()
    gradient = np.empty(codes.shape, dtype=np.float32)
    values = np.empty(len(codes))
    rows = max(1, min(512, ENTRIES // groups.means.shape[1]))
    for first in range(0, len(codes), rows):
        span = slice(first, first + rows)
        inputs = torch.from_numpy(codes[span].astype(np.float32)).to(device).requires_grad_()
        wanted = torch.from_numpy(groups.means[span].toarray()).to(device)
        sizes = torch.from_numpy(groups.sizes[span].astype(np.float32)).to(device)
        out = decoder(inputs)
        parts = (0.5 * out.square() - wanted * out).sum(dim=1) * sizes
        (slope,) = torch.autograd.grad(parts.sum(), inputs)
        gradient[span] = slope.cpu().numpy()
        values[span] = parts.detach().cpu().numpy()
    return values, gradient


def _under(arrays: dict[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    return {name[len(prefix) :]: a for name, a in arrays.items() if name.startswith(prefix)}


def _adam(parameters: list[Any], rate: float) -> Any:
    optim = import_torch().optim
    if not parameters:  # a network whose weights are all held fixed
        parameters = [import_torch().zeros(1, requires_grad=True)]
    try:
        return optim.Adam(parameters, lr=rate, fused=True)
    except (RuntimeError, TypeError):  # an older torch, or a device without it
        return optim.Adam(parameters, lr=rate)


def _device(name: str) -> Any:
    torch = import_torch()
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError, TypeError) as error:
        raise ParameterError(
            f"There is no device {name!r} here ({str(error).splitlines()[0]}); take 'auto' or "
            "'cpu'."
        ) from None


def _identity(X: sp.csr_array, Y: sp.csr_array, settings: DeepBinaryPrototypes) -> str:
    """A fingerprint of everything that determines the result."""
    modules = {n: None for n in NETWORKS if not isinstance(getattr(settings, n), str)}
    plain = settings.get_params(deep=False) | modules | {"random_state": settings._seed}
    for name in ("memory_limit", "n_jobs"):  # the result does not depend on these
        del plain[name]
    own: dict[str, Any] = {}
    for name in modules:
        module = getattr(settings, name)
        if module is not None:
            own[name] = repr(module)
            tensors = module.state_dict().items()
            own |= {f"{name}.{key}": np.array(t.detach().cpu().numpy()) for key, t in tensors}
    return fingerprint(X=X, Y=Y, settings=sorted(plain.items()), **own)
