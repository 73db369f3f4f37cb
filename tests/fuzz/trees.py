"""Arrays of boosted trees with altered links, features and thresholds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.solvers.boosted.trees import DTYPES, Forest, Tree
from tests.fuzz.kinds import Kind, Wrong, note

HOSTILE = {
    "i": (-1, 0, 1, -2, 2, 7, 63, 64, 10**6, -(10**6), 2**31 - 1, -(2**31)),
    "f": (0.0, -0.0, 1.0, -1e308, 1e308, 5e-324, np.inf, -np.inf, np.nan),
}


def grown(rng: np.random.Generator, output: int, n_features: int) -> Tree:
    """A random tree: every node splits a random leaf of those before it."""
    n_nodes = int(rng.integers(1, 9))
    left, right = [-1], [-2]
    for node in range(1, n_nodes):
        open_leaves = [(side, at) for side in (left, right) for at in range(node) if side[at] < 0]
        side, at = open_leaves[int(rng.integers(len(open_leaves)))]
        freed = side[at]
        side[at] = node
        left.append(freed)
        right.append(-node - 2)
    return Tree(
        output=output,
        feature=rng.integers(n_features, size=n_nodes).astype(np.int32),
        threshold=rng.normal(size=n_nodes),
        left=np.array(left, np.int32),
        right=np.array(right, np.int32),
        value=rng.normal(size=n_nodes + 1),
    )


def followed(arrays: dict[str, NDArray[Any]], X: NDArray[Any]) -> NDArray[np.float64]:
    """What the trees say, by following every link."""
    out = np.zeros((len(X), int(arrays["size"][0])))
    for tree, output in enumerate(arrays["output"].tolist()):
        root = int(arrays["starts"][tree])
        for row, x in enumerate(X):
            node = 0
            while node >= 0:
                at = root + node
                goes_left = x[arrays["feature"][at]] <= arrays["threshold"][at]
                node = int(arrays["left" if goes_left else "right"][at])
            out[row, output] += arrays["value"][root + tree - node - 1]
    return out


def altered(rng: np.random.Generator, array: NDArray[Any]) -> NDArray[Any]:
    """An array with some of its values, its length or its type changed."""
    array = array.copy()
    how = int(rng.integers(10))
    if how == 0:
        return array[: int(rng.integers(len(array) + 1))]
    if how == 1:
        return np.concatenate([array, array[: int(rng.integers(len(array) + 1))]])
    if how == 2:
        return array.astype([np.float32, np.int64, np.int8, np.uint32][int(rng.integers(4))])
    if how == 3:
        rng.shuffle(array)
        return array
    values = HOSTILE["f" if array.dtype.kind == "f" else "i"]
    for _ in range(int(rng.integers(1, 4))):
        if len(array):
            value = np.asarray(values[int(rng.integers(len(values)))]).astype(array.dtype)
            array[int(rng.integers(len(array)))] = value
    return array


def attempt(rng: np.random.Generator, folder: Path, common: Path) -> None:
    """One altered forest: refused, or it says what its links say."""
    n_features, n_outputs = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    trees = [
        grown(rng, int(rng.integers(n_outputs)), n_features) for _ in range(int(rng.integers(1, 6)))
    ]
    arrays = Forest.empty(n_outputs, n_features).grown(trees).to_arrays()
    changed = ["size", *DTYPES][: int(rng.integers(0, 3))] if rng.random() < 0.1 else []
    for _ in range(int(rng.integers(0, 3))):
        changed.append(list(DTYPES)[int(rng.integers(len(DTYPES)))])
    for name in changed:
        arrays[name] = altered(rng, arrays[name])
    note(folder, f"altered: {', '.join(changed)}")
    with np.errstate(all="ignore"):
        forest = Forest.from_arrays(arrays, n_outputs)
        X = rng.normal(size=(7, forest.n_features)) if forest.n_features < 100 else None
        if X is None:
            return
        said = forest.predict(sp.csr_array(X))
        wanted = followed(arrays, X)
    if not np.array_equal(said, wanted):
        raise Wrong("the trees say other than their links")
    if not np.isfinite(said).all():
        raise Wrong("a sum of trees that is not finite")


TREES = Kind("trees", attempt)
