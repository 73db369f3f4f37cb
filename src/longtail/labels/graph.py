"""The label graph: which labels occur together, how often, and how firmly the graph hangs together.

Two labels are joined by an edge if they share a point; its weight is the number of points they
share. Labels that no point has are not part of the graph. The matrix of the graph can be far larger
than Y (a point with s labels is a clique of s labels), so only `cooccurrence_graph` builds it; the
others work on Y itself.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse import csgraph
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from longtail.errors import ConvergenceWarning, ParameterError, warn
from longtail.labels._kernels import count_neighbours
from longtail.labels.encoding import encode_labels

SelfLoops = Literal["none", "unit", "counts"]
Component = Literal["largest", "all"]

_DENSE_BELOW = 256
"""Up to this many labels LAPACK on the full matrix is both faster and exact."""


def cooccurrence_graph(Y: Any, *, diagonal: bool = False) -> sp.csr_array:
    """How many points each pair of labels shares. O(sum over points of |y|^2) time and memory.

    Parameters
    ----------
    Y : array, sparse matrix or sequence of label collections
        Any form that `encode_labels` takes.
    diagonal : bool
        Whether to keep the diagonal, on which the label counts stand; zero (not stored) otherwise.

    Returns
    -------
    csr_array of shape (L, L), int64
        Symmetric.

    Examples
    --------
    >>> cooccurrence_graph([("a", "b"), ("a", "b", "c"), ("c",)]).toarray().tolist()
    [[0, 2, 1], [2, 0, 1], [1, 1, 0]]
    """
    matrix = encode_labels(Y).matrix.astype(np.int64)
    graph = sp.csr_array(matrix.T @ matrix)
    graph.sort_indices()
    if not diagonal:
        graph.setdiag(0)
        graph.eliminate_zeros()
    return graph


class Components(NamedTuple):
    """The connected components of the label graph.

    Attributes
    ----------
    number : int
        How many there are.
    of_label : int64 array of shape (L,)
        The component of each label, the largest being 0; -1 for labels that no point has.
    """

    number: int
    of_label: NDArray[np.int64]


def connected_components(Y: Any) -> Components:
    """Groups of labels that are linked by points they share. O(nnz(Y) + n + L).

    Examples
    --------
    >>> connected_components([("a", "b"), ("c",), ("b", "d")])
    Components(number=2, of_label=array([0, 0, 1, 0]))
    """
    return _components(encode_labels(Y).matrix)


def _components(matrix: sp.csr_array) -> Components:
    n, L = matrix.shape
    # Points and labels as one bipartite graph: no clique per point. scipy 1.11 takes int32 alone.
    kind = np.int32 if max(n + L, matrix.nnz) < 2**31 else np.int64
    links = matrix.indices.astype(kind) + kind(n)
    ends = np.concatenate([matrix.indptr, np.full(L, matrix.indptr[-1])]).astype(kind)
    bipartite = sp.csr_array((matrix.data, links, ends), shape=(n + L, n + L))
    found = csgraph.connected_components(bipartite, directed=False)[1][n:].astype(np.int64)
    used = np.bincount(matrix.indices, minlength=L) > 0
    of_label = np.full(L, -1, dtype=np.int64)
    if used.any():
        names, first, inverse, sizes = np.unique(
            found[used], return_index=True, return_inverse=True, return_counts=True
        )
        position = np.empty(len(names), dtype=np.int64)
        position[np.lexsort((first, -sizes))] = np.arange(len(names))
        of_label[used] = position[inverse]
    return Components(int(of_label.max(initial=-1)) + 1, of_label)


def label_degrees(Y: Any, *, weighted: bool = False) -> NDArray[np.int64]:
    """How many other labels each label occurs with.

    Divided by the number of labels minus one this is the degree centrality.

    Parameters
    ----------
    Y : array, sparse matrix or sequence of label collections
        Any form that `encode_labels` takes.
    weighted : bool
        Count every shared point instead of every neighbour: the sum of the edge weights.

    Notes
    -----
    O(nnz(Y)) time if weighted, O(sum over points of |y|^2) if not; O(nnz(Y) + L) memory.

    Examples
    --------
    >>> Y = [("a", "b"), ("a", "b", "c"), ("c",), ("c", "d")]
    >>> label_degrees(Y).tolist(), label_degrees(Y, weighted=True).tolist()
    ([2, 2, 3, 1], [3, 3, 3, 1])
    """
    matrix = encode_labels(Y).matrix
    out = np.zeros(matrix.shape[1], dtype=np.int64)
    if weighted:
        others = np.repeat(np.diff(matrix.indptr) - 1, np.diff(matrix.indptr))
        np.add.at(out, matrix.indices, others)
        return out
    by_label = sp.csc_array(matrix)
    count_neighbours(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int64),
        by_label.indptr.astype(np.int64),
        by_label.indices.astype(np.int64),
        out,
    )
    return out


def hubs(Y: Any, n: int = 10, *, weighted: bool = False) -> NDArray[np.int64]:
    """The columns of the n labels of highest degree, highest first; ties go to the smaller column.

    Labels that share no point with another label are no hubs, so there may be fewer than n.

    Examples
    --------
    >>> hubs([("a", "b"), ("a", "b", "c"), ("c",), ("c", "d")], n=1).tolist()
    [2]
    """
    if n < 0:
        raise ParameterError(f"n is a number of labels and at least 0, not {n}.")
    degrees = label_degrees(Y, weighted=weighted)
    best = np.argsort(-degrees, kind="stable")[:n]
    return best[degrees[best] > 0]


def algebraic_connectivity(
    Y: Any,
    *,
    weighted: bool = True,
    self_loops: SelfLoops = "none",
    component: Component = "largest",
    tol: float = 1e-7,
    max_iter: int = 10_000,
) -> float:
    """Second-smallest eigenvalue of the label graph's normalised Laplacian I - D^-1/2 A D^-1/2.

    Near 0 if the labels fall into groups that hardly touch, above 1 only if every label occurs with
    every other.

    Parameters
    ----------
    Y : array, sparse matrix or sequence of label collections
        Any form that `encode_labels` takes.
    weighted : bool
        Whether an edge weighs as many points as its labels share, or 1.
    self_loops : {"none", "unit", "counts"}
        What stands on the diagonal of A: nothing; 1; or the number of points of the label (1 if not
        weighted).
    component : {"largest", "all"}
        Of which part of the graph: its largest connected component, or all labels that occur, in
        which case a graph of several components has connectivity 0.
    tol : float
        Precision asked of the iterative solver, relative to the largest eigenvalue.
    max_iter : int
        Restarts after which the iterative solver gives up.

    Returns
    -------
    float
        0 if the part has fewer than two labels; NaN, with a warning, if the solver gave up.

    Notes
    -----
    One step of the solver costs O(nnz(Y)), since A x is computed as Y'(Y x) without A, and memory
    is O(nnz(Y) + 64 L); only the unweighted graph is built. Up to 256 labels LAPACK does it. The
    start vector is fixed, so the answer is reproducible.

    Examples
    --------
    Three labels that all occur together form a complete graph, whose connectivity is 3/2:

    >>> round(algebraic_connectivity([("a", "b", "c"), ("d",)]), 6)
    1.5
    >>> algebraic_connectivity([("a", "b", "c"), ("d",)], component="all")
    0.0
    """
    if self_loops not in get_args(SelfLoops):
        raise ParameterError(f"self_loops must be 'none', 'unit' or 'counts', not {self_loops!r}.")
    if component not in get_args(Component):
        raise ParameterError(f"component must be 'largest' or 'all', not {component!r}.")
    if not tol > 0:
        raise ParameterError(f"tol must be positive, not {tol}.")
    if max_iter < 1:
        raise ParameterError(f"max_iter must be at least 1, not {max_iter}.")
    matrix = encode_labels(Y).matrix.astype(np.float64)
    components = _components(matrix)
    if component == "all" and components.number > 1:
        return 0.0
    members = np.flatnonzero(components.of_label == 0)
    if len(members) < 2:
        return 0.0
    part = sp.csr_array(matrix[:, members])
    adjacency, degrees = _adjacency(part, weighted, self_loops)
    if len(members) <= _DENSE_BELOW:
        return _second_eigenvalue_dense(adjacency @ np.eye(len(members)), degrees)
    return _second_eigenvalue(adjacency, degrees, tol, max_iter)


def _adjacency(
    matrix: sp.csr_array, weighted: bool, self_loops: SelfLoops
) -> tuple[Any, NDArray[np.float64]]:
    """Something that multiplies by A, and the row sums of A."""
    L = matrix.shape[1]
    counts = np.bincount(matrix.indices, minlength=L).astype(np.float64)
    if not weighted:
        edges = sp.csr_array(matrix.T @ matrix)
        edges.data[:] = 1
        edges.setdiag(0 if self_loops == "none" else 1)
        return edges, np.asarray(edges.sum(axis=1), dtype=np.float64)
    transposed = sp.csr_array(matrix.T)
    wanted = {"none": np.zeros(L), "unit": np.ones(L), "counts": counts}[self_loops]
    correction = wanted - counts

    def multiply(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return transposed @ (matrix @ x) + (correction if x.ndim == 1 else correction[:, None]) * x

    operator = LinearOperator((L, L), matvec=multiply, matmat=multiply, dtype=np.float64)
    return operator, multiply(np.ones(L))


def _second_eigenvalue_dense(adjacency: NDArray[np.float64], degrees: NDArray[np.float64]) -> float:
    scale = 1 / np.sqrt(degrees)
    laplacian = np.eye(len(degrees)) - scale[:, None] * adjacency * scale
    return max(float(np.linalg.eigvalsh(laplacian)[1]), 0.0)


def _second_eigenvalue(
    adjacency: Any, degrees: NDArray[np.float64], tol: float, max_iter: int
) -> float:
    """1 minus the second-largest eigenvalue of D^-1/2 A D^-1/2, whose largest is 1 at sqrt(d)."""
    L = len(degrees)
    scale = 1 / np.sqrt(degrees)
    top = np.sqrt(degrees / degrees.sum())

    def multiply(x: NDArray[np.float64]) -> NDArray[np.float64]:
        x = x.ravel()
        # The known eigenvector goes from 1 to -1, below every other eigenvalue.
        return scale * (adjacency @ (scale * x)) - 2 * (top @ x) * top

    try:
        largest = eigsh(
            LinearOperator((L, L), matvec=multiply, dtype=np.float64),
            k=1,
            which="LA",
            v0=np.random.default_rng(0).standard_normal(L),
            ncv=min(L, 64),
            tol=tol,
            maxiter=max_iter,
            return_eigenvectors=False,
        )
    except ArpackNoConvergence:
        warn(
            f"The algebraic connectivity was not found to tol={tol:g} within max_iter={max_iter} "
            "restarts; allow more or ask for less.",
            ConvergenceWarning,
        )
        return float("nan")
    return max(1 - float(largest[0]), 0.0)
