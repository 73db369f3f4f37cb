"""PECOS's XLinearModel, one tree, with its defaults."""

from __future__ import annotations

from importlib.metadata import version

from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel
from peer import Job, K, ranked, timed


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
    job.report(ranked(found), "libpecos", version("libpecos"), train=seconds, predict=predict)


if __name__ == "__main__":
    main()
