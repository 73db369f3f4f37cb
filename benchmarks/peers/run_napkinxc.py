"""napkinXC's probabilistic label tree with its defaults.

Its `fit` writes the model as well, which cannot be taken out of the training time. Prediction with
weights loaded as dense vectors, which is not the default but faster, is timed too where the memory
for that is moderate.
"""

from __future__ import annotations

from importlib.metadata import version

from napkinxc.models import PLT
from peer import Job, K, padded, peak_memory, timed

DENSE_LIMIT = 2**30  # bytes up to which the model is also tried as dense vectors


def main() -> None:
    job = Job()
    X, Y, X_test = job.matrix("X"), job.matrix("Y"), job.matrix("X_test")
    model = PLT(str(job.model), threads=job.threads, seed=1)
    train, _ = timed(lambda: model.fit(X, Y))  # which writes the model too

    def predict(**options):
        loaded = PLT(str(job.model), threads=job.threads, **options)
        loaded.load()
        return job.best_time(lambda: loaded.predict_proba(X_test, top_k=K))

    seconds, rows = predict()
    fastest, peak = seconds, peak_memory()  # of the default alone
    if 4 * Y.shape[1] * X.shape[1] < DENSE_LIMIT:
        fastest = min(fastest, predict(load_as="dense")[0])
    job.report(
        padded(rows), "napkinxc", version("napkinxc"), train=train, predict=seconds,
        predict_fastest=fastest, peak=peak,
    )  # fmt: skip


if __name__ == "__main__":
    main()
