"""A classifier of longtail, with the settings that are given.

Every kernel is compiled on a few points first, as it is once in an installation, so that no
compilation is timed.
"""

from __future__ import annotations

from peer import Job, K, ranked, timed

import longtail


def main() -> None:
    job = Job()
    X, Y, X_test = job.matrix("X"), job.matrix("Y"), job.matrix("X_test")
    settings = dict(job.settings)
    classifier = getattr(longtail, settings.pop("classifier"))

    def train(rows: slice = slice(None)):
        return classifier(**settings, n_jobs=job.threads).fit(X[rows], Y[rows])

    train(slice(400)).predict_topk(X_test[:600], K)
    seconds, model = timed(train)
    model.save(job.model)
    model = longtail.load(job.model)
    predict, found = job.best_time(lambda: model.predict_topk(X_test, K))
    job.report(ranked(found), "longtail", longtail.__version__, train=seconds, predict=predict)


if __name__ == "__main__":
    main()
