"""`recommend`: the rules asked of the facts, with what training would take on this machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast, get_args

import numpy as np
import polars as pl
import scipy.sparse as sp

from longtail._sparse import as_csr
from longtail.choosing.facts import DataFacts, measure_facts
from longtail.choosing.rules import RULES, Rule, Want
from longtail.errors import InputError, LongtailError, ParameterError
from longtail.features.made import FeatureKind, FeaturesByKind, MadeFeatures
from longtail.labels import encode_labels
from longtail.methods.registry import find_method
from longtail.runtime.estimates import Estimate, size_in_words, time_in_words
from longtail.runtime.memory import available_memory

LONGEST = 86_400.0  # seconds of training beyond which a method is not recommended


@dataclass(frozen=True)
class Alternative:
    """Another method that suits the data, and when to prefer it."""

    method: str
    prefer: str


@dataclass(frozen=True)
class Recommendation:
    """A method for some data, and why.

    Attributes
    ----------
    method : str
        Its name at the command line, or in `longtail.methods`.
    reasons : tuple of str
        Sentences with the measured numbers, the first one the most important.
    alternatives : tuple of Alternative
        Other methods that suit the data, with when to prefer them.
    facts : DataFacts
        What was measured.
    estimates : dict of str to Estimate
        What training would take, of all methods that were considered and could say.
    """

    method: str
    reasons: tuple[str, ...]
    alternatives: tuple[Alternative, ...]
    facts: DataFacts
    estimates: dict[str, Estimate]

    def table(self) -> pl.DataFrame:
        """One row per method considered: memory, time, and when to prefer it."""
        prefer = {self.method: "recommended"} | {a.method: a.prefer for a in self.alternatives}
        return pl.DataFrame(
            {
                "method": list(self.estimates),
                "memory": [size_in_words(need.peak_bytes) for need in self.estimates.values()],
                "time": [time_in_words(need.seconds) for need in self.estimates.values()],
                "prefer": [prefer.get(name, "not here") for name in self.estimates],
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {
            "method": self.method,
            "reasons": list(self.reasons),
            "alternatives": [vars(one) for one in self.alternatives],
            "facts": self.facts.to_dict(),
            "estimates": {name: vars(need) for name, need in self.estimates.items()},
        }

    def __str__(self) -> str:
        lines = [f"{self.method}: {self.reasons[0]}", *self.reasons[1:]]
        return "\n".join([*lines, *(f"{one.method} {one.prefer}." for one in self.alternatives)])


def recommend(
    X: Any,
    Y: Any,
    *,
    text: bool | None = None,
    want: Want | None = None,
    n_jobs: int | None = None,
) -> Recommendation:
    """The method that suits some data, with the reasons, the alternatives and what they would take.

    Parameters
    ----------
    X : sequence of str, or sparse matrix or array of shape (n, D)
        Texts, or features. Of texts the usual features are made, all of them.
    Y
        The labels of each row, in any form that `fit` takes.
    text : bool, optional
        Whether features are words; by default if X is texts.
    want : {"ranking", "sets", "hamming", "rare", "accuracy", "similar"}, optional
        What the answers are for, see `Want`; by default what the data suggest.
    n_jobs : int, optional
        Threads to plan with, as in scikit-learn.

    Returns
    -------
    Recommendation

    Notes
    -----
    The rules are in `longtail.choosing.rules`; each says which page has the measurements it
    follows from. A method that would take more memory than is available, or more than a day, is
    not recommended. What accuracy a method has on *this* data only `longtail.compare` can tell.

    Examples
    --------
    >>> from longtail.data import make_longtail
    >>> data = make_longtail(400, 300, 200, random_state=0)
    >>> recommend(data.X, data.Y).method
    'proxml'
    >>> recommend(data.X, data.Y, want="similar").method
    'knn'
    """
    given = sp.issparse(X) or getattr(X, "ndim", 0) == 2 or (len(X) and not isinstance(X[0], str))
    features = _AsGiven(X) if given else FeaturesByKind(X)
    text = not given if text is None else bool(text)
    return choose_method(features, encode_labels(Y).matrix, text=text, want=want, n_jobs=n_jobs)


class _AsGiven:
    """A matrix that is the features of every kind."""

    def __init__(self, X: Any) -> None:
        self._made = MadeFeatures(as_csr(X), None)

    def __call__(self, kind: FeatureKind) -> MadeFeatures:
        return self._made


def choose_method(
    features: Callable[[FeatureKind], MadeFeatures],
    Y: sp.csr_array,
    *,
    text: bool,
    want: Want | None = None,
    n_jobs: int | None = None,
    details: bool = True,
) -> Recommendation:
    """The choice of `recommend`, of `longtail inspect` and of `longtail train`.

    Parameters
    ----------
    features : callable
        Given a kind of features, returns them; see `FeaturesByKind`.
    Y : csr_array of shape (n, L)
        Labels.
    text, want, n_jobs
        As in `recommend`.
    details : bool
        Whether alternatives and the label graph are wanted. Without them the method is the same,
        and found sooner.
    """
    want = check_want(want)
    if not Y.shape[0] or not Y.nnz:
        raise InputError("There is no point with a label, so there is no method to recommend.")
    X = features("scaled").X
    if X.shape[0] != Y.shape[0]:
        raise InputError(
            f"X has {X.shape[0]:,} rows and Y {Y.shape[0]:,}; give the labels of each row."
        )
    if not np.isfinite(X.data).all():
        raise InputError("X holds NaN or infinity; replace these values first.")
    facts = measure_facts(X, Y, text=text, graph=details)
    suitable = [rule for rule in RULES if rule.suits(facts)]
    first = [
        rule for rule in suitable if (rule.leads(facts) if want is None else want in rule.wants)
    ]
    ordered = first + [rule for rule in suitable if rule not in first] if details else first
    if details and not first:
        raise InputError(
            f"No method is known to be good at {want!r} on data like this; leave out `want`."
        )
    needs, refused = _needs(ordered, features, Y, n_jobs, all_of_them=details)
    fitting = [rule for rule in ordered if rule.method in needs and rule.method not in refused]
    if not fitting:
        if not details:
            return choose_method(features, Y, text=text, want=want, n_jobs=n_jobs)
        cause = refused[ordered[0].method].removesuffix(".")
        raise InputError(f"No method fits: {cause}; give fewer points, labels or features.")
    best = fitting[0]
    passed_over = ordered[: ordered.index(best)]
    reasons = [best.why(facts), f"Training would take {needs[best.method]}."]
    reasons += [refused[rule.method] for rule in passed_over]
    return Recommendation(
        best.method,
        tuple(reasons),
        tuple(Alternative(rule.method, rule.prefer) for rule in fitting[1:]),
        facts,
        needs,
    )


def check_want(want: str | None) -> Want | None:
    """The `want` of `recommend`, checked.

    Examples
    --------
    >>> check_want("rare")
    'rare'
    """
    if want is not None and want not in get_args(Want):
        raise ParameterError(f"want must be one of {', '.join(get_args(Want))}, not {want!r}.")
    return cast(Want | None, want)


def _needs(
    rules: list[Rule],
    features: Callable[[FeatureKind], MadeFeatures],
    Y: sp.csr_array,
    n_jobs: int | None,
    *,
    all_of_them: bool,
) -> tuple[dict[str, Estimate], dict[str, str]]:
    """What training by each method takes, or up to the first that fits; and why some cannot."""
    there = available_memory()
    needs: dict[str, Estimate] = {}
    refused: dict[str, str] = {}
    for rule in rules:
        method = find_method(rule.method)
        settings = {"n_jobs": n_jobs} if "n_jobs" in method.parameters else {}
        classifier = method.estimator(**settings)
        try:
            need = features(classifier.feature_kind).estimate(classifier, Y)
        except LongtailError as error:
            refused[rule.method] = f"{rule.method} cannot do it: {error}"
            continue
        needs[rule.method] = need
        if there is not None and need.peak_bytes > there:
            refused[rule.method] = (
                f"{rule.method} would take {size_in_words(need.peak_bytes)}, more than the "
                f"{size_in_words(there)} of memory that are available."
            )
        elif need.seconds > LONGEST:
            refused[rule.method] = (
                f"{rule.method} would take {time_in_words(need.seconds)} of training."
            )
        elif not all_of_them:
            break
    return needs, refused
