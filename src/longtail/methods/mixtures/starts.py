"""Where the training of a conditional mixture starts: responsibilities before gate and experts."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from longtail.labels import distinct_sets
from longtail.methods.mixtures.bernoulli import fit_bernoulli_mixture

SOFTENING = 0.3  # power of the shares if every set has its own component
CERTAIN = 0.9  # share of a point's own cluster
LABEL_WEIGHTS = (1.0, 3.0, 0.3)  # of labels against features in clusters of both, in turn
ROUNDS = 50  # of k-means


def first_shares(
    X: sp.csr_array,
    Y: sp.csr_array,
    n_components: int,
    *,
    n_starts: int = 10,
    random_state: int = 0,
    number: int = 0,
) -> NDArray[np.float64]:
    """Responsibilities (n, K) to start from.

    The first start is the paper's: a Bernoulli mixture of the labels alone. If that has at least as
    many components as there are distinct sets, every set has its own components. Their certain
    shares would make the gate a power-set classifier and the experts constants, and training would
    stay there. So they are softened: the shares to the power 0.3, scaled to add up to one.

    `n_starts` is the number of random starts of that Bernoulli mixture. With a `number` other than
    0, another start: 1, 3, ... are clusters of features and labels together by k-means, with
    changing weights of the two; 2, 4, ... are Bernoulli mixtures from one random start each.
    O(K·nnz) per round.

    Examples
    --------
    >>> Y = sp.csr_array(np.array([[1.0, 0.0]] * 3 + [[0.0, 1.0]] * 3))
    >>> first_shares(Y, Y, 2, number=1).round(2).tolist()[2:4]
    [[0.95, 0.05], [0.05, 0.95]]
    """
    seed = random_state + number
    if number % 2:
        weight = LABEL_WEIGHTS[(number // 2) % len(LABEL_WEIGHTS)]
        both = sp.hstack([X / _spread(X), Y * (weight / _spread(Y))], format="csr")
        kmeans = KMeans(n_components, n_init=1, max_iter=ROUNDS, random_state=seed)
        own = kmeans.fit_predict(sp.csr_matrix(both))
        return CERTAIN * np.eye(n_components)[own] + (1 - CERTAIN) / n_components
    mixture = fit_bernoulli_mixture(
        Y, n_components, n_starts=1 if number else n_starts, random_state=seed
    )
    shares = mixture.responsibilities(Y)
    if n_components >= distinct_sets(Y)[0].shape[0] > 1:
        shares **= SOFTENING
        shares /= shares.sum(axis=1, keepdims=True)
    return shares


def _spread(matrix: sp.csr_array) -> float:
    """Standard deviation of all entries, including zeros that are not stored; 1 if it is zero."""
    size = float(np.prod(matrix.shape))
    mean = float(matrix.sum()) / size
    square = float(matrix.multiply(matrix).sum()) / size
    return float(np.sqrt(max(square - mean * mean, 0.0))) or 1.0
