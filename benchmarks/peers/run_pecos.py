"""PECOS's XLinearModel, one tree, with its defaults."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel
from peer import Job, K, timed


def main() -> None:
    job = Job()
    X, Y, X_test = job.matrix("X"), job.matrix("Y"), job.matrix("X_test")

    def train():
        features = LabelEmbeddingFactory.create(Y, X, method="pifa", threads=job.threads)
        tree = Indexer.gen(features, indexer_type="hierarchicalkmeans", threads=job.threads)
        return XLinearModel.train(X, Y, C=tree, threads=job.threads)

    seconds, model = timed(train)
    model.save(str(job.model))
    model = XLinearModel.load(str(job.model), is_predict_only=True)
    predict, found = job.best_time(lambda: model.predict(X_test, only_topk=K, threads=job.threads))
    labels = np.full((X_test.shape[0], K), -1, dtype=np.int64)
    scores = np.full(labels.shape, np.nan)
    for i in range(X_test.shape[0]):
        row = slice(found.indptr[i], found.indptr[i + 1])
        order = np.argsort(-found.data[row], kind="stable")[:K]
        labels[i, : len(order)] = found.indices[row][order]
        scores[i, : len(order)] = found.data[row][order]
    job.report(labels, scores, version=version("libpecos"), train=seconds, predict=predict)


if __name__ == "__main__":
    main()
