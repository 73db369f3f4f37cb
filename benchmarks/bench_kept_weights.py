"""How many weights linear problems keep, beside what `estimate` assumes.

    make bench-kept-weights
    python benchmarks/bench_kept_weights.py --sets bibtex,texts --labels 20

Forty labels of all sizes of each set are trained with several C, small weights dropped as usual,
and what is kept of all of them is set beside what `weights_kept` says: said / kept. The constants
`PULL` in longtail/solvers/costs.py were set on these sets. "texts" are the built-in ones,
"openings" their first six words, "glosses" the last six words of WordNet's, "made" six words per
point drawn by Zipf's law.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from data_folder import DATA, data_folder
from longtail.data import load_api_docs, read_dataset
from longtail.features import TextFeatures
from longtail.features.made import usual_features
from longtail.labels import encode_labels
from longtail.papers import find_paper, read_trial
from longtail.solvers import fit_linear
from longtail.solvers.costs import weights_kept

STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
MIDDLE = (0.1, 10.0)
PRUNE = 0.01
WORDS = 6


def _file(name: str) -> tuple[Any, Any]:
    train = read_dataset(DATA / name, part="train")
    return usual_features("scaled", texts=False).fit_transform(train.X), train.Y


def _texts(words: slice | None = None) -> tuple[Any, Any]:
    data = load_api_docs()
    return _shortened(data.texts, words), data.Y


def _wordnet(words: slice | None = None) -> tuple[Any, Any]:
    train, _ = read_trial(find_paper("mrb").trial("WordNet-7500"), DATA)
    return _shortened(train.texts, words), train.Y


def _shortened(texts: Any, words: slice | None) -> Any:
    if words is not None:
        texts = [" ".join(text.split()[words]) for text in texts]
    return TextFeatures().fit_transform(texts)


def _made(n: int = 20_000, n_features: int = 5000, n_labels: int = 500) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    chances = 1.0 / np.arange(1, n_features + 1)
    words = rng.choice(n_features, size=(n, WORDS), p=chances / chances.sum())
    labels = rng.zipf(1.6, size=(n, 2)) % n_labels
    X, Y = (
        sp.csr_array(
            (np.ones(numbers.size), (np.repeat(np.arange(n), numbers.shape[1]), numbers.ravel())),
            shape=(n, width),
        )
        for numbers, width in ((words, n_features), (labels, n_labels))
    )
    Y.data[:] = 1.0
    X.data[:] = 1.0 / np.sqrt(WORDS)
    return X.astype(np.float32), Y


SETS: dict[str, Callable[[], tuple[Any, Any]]] = {
    **{
        name: lambda name=name: _file(name)  # type: ignore[misc]
        for name in ("bibtex", "rcv1-subset1", "delicious", "eurlex-4k")
    },
    "texts": _texts,
    "openings": lambda: _texts(slice(WORDS)),
    "wordnet-7500": _wordnet,
    "glosses": lambda: _wordnet(slice(-WORDS, None)),
    "made": _made,
}


def _ratios(X: Any, Y: Any, loss: str, n_labels: int) -> list[float]:
    """Said / kept for every C."""
    labels = sp.csc_array(encode_labels(Y).matrix)
    counts = np.diff(labels.indptr)
    order = np.argsort(counts, kind="stable")[np.count_nonzero(counts == 0) :]
    chosen = order[np.unique(np.linspace(0, len(order) - 1, n_labels).astype(int))]
    targets, found = sp.csr_array(labels[:, chosen]), []
    for C in STRENGTHS:
        settings = {"loss": loss, "strength": 1 / C, "prune": PRUNE}
        fit = fit_linear(X, targets, tol=1e-3, max_iter=60, n_jobs=2, **settings)  # type: ignore[arg-type]
        said = weights_kept(X, counts[chosen], penalty="l2", **settings)  # type: ignore[arg-type]
        found.append(float(said.sum() / fit.weights.nnz))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--labels", type=int, default=40)
    given = parser.parse_args()
    data_folder()
    warnings.simplefilter("ignore")
    print(f"{'set':<14}{'loss':<15}" + "".join(f"{f'C={C:g}':>8}" for C in STRENGTHS))
    middle, every = [], []
    for name in given.sets.split(","):
        X, Y = SETS[name]()
        for loss in ("squared_hinge", "logistic"):
            ratios = _ratios(sp.csr_array(X), Y, loss, given.labels)
            print(f"{name:<14}{loss:<15}" + "".join(f"{r:>8.2f}" for r in ratios), flush=True)
            every += ratios
            middle += [
                r for C, r in zip(STRENGTHS, ratios, strict=True) if MIDDLE[0] <= C <= MIDDLE[1]
            ]
    print(f"\nC from 0.1 to 10: {min(middle):.2f} to {max(middle):.2f}; ", end="")
    print(f"from 0.01 to 100: {min(every):.2f} to {max(every):.2f}")


if __name__ == "__main__":
    main()
