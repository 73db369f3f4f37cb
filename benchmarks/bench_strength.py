"""One strength for all labels against strengths that grow with a label's points, on real sets.

    make bench-strength
    python benchmarks/bench_strength.py --sets bibtex,eurlex --strengths "0.5 0.38,0.18"
    python benchmarks/bench_strength.py --method dismec --strengths "1 1,0.15"

Each model is trained on one thread; seconds are those of the processor.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from longtail import DiSMEC, ProXML
from longtail.labels import propensities
from longtail.metrics import evaluate
from peers.problems import Problem, real, texts

SETS: dict[str, Callable[[], Problem | None]] = {
    "yeast": lambda: real("yeast", "Yeast", None),
    "scene": lambda: real("scene", "Scene", None),
    "bibtex": lambda: real("bibtex", "Bibtex", None),
    "rcv1": lambda: real("rcv1-subset1", "RCV1 subset 1", None),
    "delicious": lambda: real("delicious", "Delicious", None),
    "mediamill": lambda: real("mediamill", "Mediamill", None),
    "wordnet": lambda: texts("wordnet-hypernyms", "WordNet hypernyms"),
    "eurlex": lambda: real("eurlex-4k", "EURLex-4K", "sqrt"),
    "debian": lambda: texts("debian-depends", "debian-depends"),
}
METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")
MODELS = {
    "proxml": (lambda s: ProXML(strength=s), "0.5 0.4,0.15 0.38,0.18 0.36,0.2"),
    "dismec": (lambda C: DiSMEC(C=C), "1 0.5 1,0.1 1,0.15"),
}


def parsed(words: str) -> list[float | tuple[float, ...]]:
    found = [tuple(map(float, word.split(","))) for word in words.split()]
    return [numbers[0] if len(numbers) == 1 else numbers for numbers in found]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--method", default="proxml", choices=MODELS)
    parser.add_argument("--strengths", help="numbers or pairs a,b with blanks between them")
    given = parser.parse_args()
    made, usual = MODELS[given.method]
    print("| set | a, b | P@1/3/5 | PSP@1/3/5 | CPU s | weights |\n|---|---|---|---|---|---|")
    for name in given.sets.split(","):
        problem = SETS[name]()
        if problem is None:
            continue
        for strength in parsed(given.strengths or usual):
            began = time.process_time()
            model = made(strength).fit(problem.X, problem.Y, progress=False)
            seconds = time.process_time() - began
            found = evaluate(
                problem.Y_test, Y_score=model.predict_topk(problem.X_test, 5),
                propensities=propensities(problem.Y),
            )  # fmt: skip
            P, PSP = (
                " / ".join(f"{100 * found[metric]:.1f}" for metric in METRICS[part])
                for part in (slice(3), slice(3, 6))
            )
            said = strength if isinstance(strength, float) else ", ".join(map(str, strength))
            print(
                f"| {problem.name} | {said} | {P} | {PSP} | {seconds:.1f} | "
                f"{model.weights_.nnz:,} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
