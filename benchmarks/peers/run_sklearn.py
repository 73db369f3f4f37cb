"""scikit-learn's OneVsRestClassifier over LinearSVC or LogisticRegression, both by liblinear.

It has no top k: the scores of all labels are asked for, on the one thread it uses for that, and the
best five taken. Labels without a training point are left out, since it gives them a constant score
above that of most others.
"""

from __future__ import annotations

import warnings

import joblib
import numpy as np
import sklearn
from peer import Job, K, peak_memory, timed
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

BASES = {"LinearSVC": LinearSVC, "LogisticRegression": LogisticRegression}
BLOCK = 2**29
"""Bytes of scores that are held at once; few, but every block costs a call for each label."""


def main() -> None:
    warnings.simplefilter("ignore")  # of solvers that end at their limit on sweeps
    job = Job()
    X, Y, X_test = job.matrix("X"), job.matrix("Y").tocsc(), job.matrix("X_test")
    X, X_test = X.astype(np.float64), X_test.astype(np.float64)  # what liblinear computes in
    settings = dict(job.settings)
    base = BASES[settings.pop("base")](random_state=0, **settings)
    used = np.flatnonzero(np.diff(Y.indptr))
    Y = Y[:, used].tocsr().astype(np.int64)
    train, model = timed(lambda: OneVsRestClassifier(base, n_jobs=job.threads).fit(X, Y))
    peak = peak_memory()  # while its workers are still there
    job.model.mkdir(exist_ok=True)
    joblib.dump(model, job.model / "model.joblib")
    del model
    model = joblib.load(job.model / "model.joblib")
    k = min(K, len(used))
    step = max(1, BLOCK // (8 * len(used)))

    def best(rows: slice) -> np.ndarray:
        scores = model.decision_function(X_test[rows]).reshape(-1, len(used))
        some = np.argpartition(-scores, k - 1, axis=1)[:, :k]
        order = np.argsort(-np.take_along_axis(scores, some, axis=1), axis=1, kind="stable")
        return used[np.take_along_axis(some, order, axis=1)]

    def predict() -> np.ndarray:
        return np.vstack([best(slice(i, i + step)) for i in range(0, X_test.shape[0], step)])

    seconds, labels = job.best_time(predict)
    job.report(
        labels, "scikit-learn", sklearn.__version__, train=train, predict=seconds,
        peak=max(peak, peak_memory()),
    )  # fmt: skip


if __name__ == "__main__":
    main()
