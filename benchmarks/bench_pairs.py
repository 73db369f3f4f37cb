"""mRb as the number of classes grows, and how fast it predicts.

    make bench-pairs
    python benchmarks/bench_pairs.py --only speed
    python benchmarks/bench_pairs.py --only other-C --classes 1000,3000

The paper's table and curves are done by `longtail reproduce mrb`. Here:

- growth: seconds and peak memory of training on the documents of 7,500 WordNet classes, merged at
  random into 75, 750 and 7,500 classes, so that documents and words stay the same; each in a
  process of its own. C is fixed, since choosing it costs the same factor everywhere.
- bias: accuracy of one-versus-one with and without a bias, 100 classes, mean of three samples.
- variants: mRb on 1,000 classes, mean of three samples: with and without leave-one-out, on all,
  uniform and adversarial pairs, and at several C.
- speed: documents per second at 7,500 classes, two threads, top 5, best of three.
- other-C: one-versus-all at several C beside mRb, the first sample of each number of classes;
  takes long, so only if it is asked for.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from data_folder import DATA, data_folder
from longtail import ExtremeClassifier, ranked
from longtail.choosing import Problem, result_on_test, train_method
from longtail.features import TextFeatures
from longtail.methods.linear import OVA, OVO
from longtail.methods.pairs import PairRanker
from longtail.papers import find_paper, prepare_trial, read_trial
from measuring import alone, best_of, peak_gigabytes, timed
from peers.bars import Bars

SIZES = (75, 750, 7500)
VARIANTS: dict[str, dict[str, Any]] = {
    "leave-one-out, all pairs": {"pairs": "all"},
    "literal, all pairs": {"pairs": "all", "leave_one_out": False},
    "uniform, 20 a document": {"pairs": "uniform"},
    "uniform, 5": {"pairs": "uniform", "n_pairs": 5},
    "uniform, 1": {"pairs": "uniform", "n_pairs": 1},
    "adversarial, 20": {"pairs": "adversarial"},
    "adversarial, 5": {"pairs": "adversarial", "n_pairs": 5},
    **{f"all pairs, C = {C:g}": {"pairs": "all", "C": C} for C in (0.001, 1.0, 1000.0)},
}


def _documents() -> tuple[Any, Any, Any]:
    train, test = read_trial(find_paper("mrb").trial("WordNet-7500"), DATA)
    counts = TextFeatures(sublinear_tf=False, idf=False, norm=None)
    return counts.fit_transform(train.texts), train.Y.indices, counts.transform(test.texts)


def _grown(size: int) -> tuple[int, float, float, float]:
    """Entries of the class profiles, seconds, and MB of training before and above."""
    X, y, _ = _documents()
    merged = np.random.default_rng(0).integers(size, size=7500) if size < 7500 else np.arange(7500)
    small = PairRanker(C=1.0, n_jobs=2).fit(X[:500], merged[y[:500]])  # kernels compiled
    before = 1e3 * peak_gigabytes()
    seconds, model = timed(lambda: PairRanker(C=1.0, n_jobs=2).fit(X, merged[y]))
    assert small.weights_.shape == model.weights_.shape
    return model._profiles().index.nnz, seconds, before, 1e3 * peak_gigabytes() - before


def growth() -> None:
    print(
        f"\n  {'classes':>8}{'profile entries':>17}{'train s':>9}{'MB before':>11}{'MB above':>10}"
    )
    for size in SIZES:
        entries, seconds, before, above = alone(_grown, size)
        print(f"  {size:>8,}{entries:>17,}{seconds:>9.1f}{before:>11.0f}{above:>10.0f}", flush=True)


def bias() -> None:
    trial = find_paper("mrb").trial("WordNet-100")
    for given in (False, True):
        found = []
        for seed in trial.seeds:
            train, test = read_trial(trial, DATA, seed)
            features = TextFeatures()
            model = OVO(bias=given, n_jobs=2).fit(features.fit_transform(train.texts), train.Y)
            best, _ = ranked(model.predict_topk(features.transform(test.texts), 1), 1)
            found.append((best[:, 0] == test.Y.indices).mean())
        print(f"  OVO, 100 classes, {'a' if given else 'no'} bias: accuracy {np.mean(found):.3f}")


def _figures(problem: Problem, model: ExtremeClassifier) -> list[float]:
    """Accuracy, MaF1, covered classes, the share with the class among the first 5, seconds."""
    trained = train_method(problem, model)
    found = result_on_test(problem, trained).evaluation
    assert found is not None
    first = [found[name] for name in ("accuracy", "maf1", "covered_classes")]
    return [*first, 5 * found["P@5"], trained.seconds]


def _head(what: str) -> None:
    print(
        f"\n  {what:<28}{'accuracy':>9}{'MaF1':>8}{'covered':>9}{'in top 5':>10}{'train s':>9}",
        flush=True,
    )


def _line(what: str, accuracy: float, maf1: float, covered: float, five: float, s: float) -> None:
    print(
        f"  {what:<28}{accuracy:>9.3f}{maf1:>8.3f}{covered:>9.3f}{five:>10.3f}{s:>9.1f}", flush=True
    )


def variants(jobs: int) -> None:
    paper = find_paper("mrb")
    prepared = prepare_trial(paper, paper.trial("WordNet-1000"), DATA)
    _head(f"1,000 classes, {len(prepared.problems)} samples")
    for name, given in VARIANTS.items():
        found = [_figures(each, PairRanker(**given, n_jobs=jobs)) for each in prepared.problems]
        _line(name, *np.mean(found, axis=0))


def other_c(sizes: list[int], Cs: list[float], jobs: int) -> None:
    paper = find_paper("mrb")
    for size in sizes:
        problem = prepare_trial(paper, paper.trial(f"WordNet-{size}"), DATA, n_seeds=1).problem
        _head(f"{size:,} classes, one sample")
        _line("mRb", *_figures(problem, PairRanker(n_jobs=jobs)))
        for C in Cs:
            _line(f"OVA, C = {C:g}", *_figures(problem, OVA(C=C, n_jobs=jobs)))


def speed(bars: Bars) -> None:
    X, y, unseen = _documents()
    model = PairRanker(C=1.0, n_jobs=2).fit(X, y)
    model.predict_topk(unseen[:100], 5)
    rate = unseen.shape[0] / best_of(lambda: model.predict_topk(unseen, 5))
    bars.at_least("7,500 classes, documents a second on two threads", rate, 2000, ".0f")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--only", default="growth,bias,variants,speed")
    options.add_argument("--classes", default="1000,3000,7500", help="of other-C")
    options.add_argument("--Cs", default="0.1,1,10,100", help="of other-C")
    options.add_argument("--n-jobs", type=int, default=2, help="of variants and other-C")
    given = options.parse_args()
    chosen = given.only.split(",")
    data_folder()
    bars = Bars()
    if "growth" in chosen:
        growth()
    if "bias" in chosen:
        bias()
    if "variants" in chosen:
        variants(given.n_jobs)
    if "speed" in chosen:
        speed(bars)
    if "other-C" in chosen:
        sizes, Cs = given.classes.split(","), given.Cs.split(",")
        other_c(list(map(int, sizes)), list(map(float, Cs)), given.n_jobs)
    bars.sum_up()


if __name__ == "__main__":
    main()
