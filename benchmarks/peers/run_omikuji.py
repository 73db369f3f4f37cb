"""Omikuji's default forest of three trees.

Its Python package trains from a file in one call and predicts row by row from Python lists, so the
driver calls the same library functions directly: training apart from reading, and prediction on
arrays, as its command line program does it.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import omikuji
from omikuji._libomikuji import ffi, lib
from peer import Job, K, timed

BEAM = 10  # the default


def main() -> None:
    job = Job()
    X_test = job.matrix("X_test")
    X_test.sort_indices()
    threads = ffi.gc(lib.init_omikuji_thread_pool(job.threads), lib.free_omikuji_thread_pool)
    file = ffi.new("char[]", str(job.data / "train.txt").encode())
    data = ffi.gc(lib.load_omikuji_data_set(file, threads), lib.free_omikuji_data_set)
    train, trained = timed(
        lambda: lib.train_omikuji_model(data, omikuji.Model.default_hyper_param(), threads)
    )
    omikuji.Model(trained).save(str(job.model))
    model = omikuji.Model.load(str(job.model))
    model.densify_weights(n_threads=job.threads)  # as its command line program does on loading
    n = X_test.shape[0]
    labels = np.full((n, K), -1, dtype=np.int64)
    features = X_test.indices.astype(np.uint32)
    values = X_test.data.astype(np.float32)
    pools = [
        ffi.gc(lib.init_omikuji_thread_pool(1), lib.free_omikuji_thread_pool)
        for _ in range(job.threads)
    ]

    def predict_span(worker: int) -> None:
        found, marks = np.empty(K, dtype=np.uint32), np.empty(K, dtype=np.float32)
        into = ffi.cast("uint32_t *", found.ctypes.data), ffi.cast("float *", marks.ctypes.data)
        at, to = features.ctypes.data, values.ctypes.data
        for i in range(worker, n, job.threads):
            first, last = int(X_test.indptr[i]), int(X_test.indptr[i + 1])
            got = lib.omikuji_predict(
                model._model_ptr, BEAM, last - first, ffi.cast("uint32_t *", at + 4 * first),
                ffi.cast("float *", to + 4 * first), K, *into, pools[worker],
            )  # fmt: skip
            labels[i, :got] = found[:got]

    def predict() -> None:
        with ThreadPoolExecutor(job.threads) as workers:
            list(workers.map(predict_span, range(job.threads)))

    seconds, _ = job.best_time(predict)
    job.report(labels, "omikuji", omikuji.__version__, train=train, predict=seconds)


if __name__ == "__main__":
    main()
