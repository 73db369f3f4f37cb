"""`longtail demo`: all steps on built-in data, in well under a minute."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longtail.cli._options import Jobs, Quiet
from longtail.cli._output import console, print_missing_extras, remark
from longtail.cli.evaluate import print_evaluation

if TYPE_CHECKING:
    from rich.console import Console

    from longtail.data import Dataset
    from longtail.tagger import Tagger

SHOWN = 3
LABELS_SHOWN = 5
REASONS_SHOWN = 3


def demo(
    to: Annotated[Path, typer.Option(help="Where the model goes.", metavar="MODEL")] = Path(
        "demo-model"
    ),
    jobs: Jobs = -1,
    quiet: Quiet = False,
) -> None:
    """Train, measure and use a tagger on built-in data.

    The data: docstrings of the installed numpy, scipy and scikit-learn. The labels: the modules
    they live in and the names under "See Also". Nothing is downloaded.

    Example:

    ```text
    longtail demo --to demo-model
    ```
    """
    from longtail import DiSMEC, Tagger, TextFeatures, store
    from longtail.data import load_api_docs
    from longtail.features.made import make_features
    from longtail.metrics import evaluate_model

    started = time.monotonic()
    store.check_target(to)
    remark("Collecting docstrings of numpy, scipy and scikit-learn", quiet=quiet)
    docs = load_api_docs()
    train, test = docs.split(test_size=0.2, random_state=0)
    remark(
        f"Training DiSMEC on {len(train):,} texts with {train.n_labels:,} labels, testing on "
        f"{len(test):,}",
        quiet=quiet,
    )
    made = make_features(TextFeatures(), train.texts)
    classifier = DiSMEC(n_jobs=jobs)
    classifier.fit(made.X, train.encoded, progress=False if quiet else None)
    tagger = Tagger.from_fitted(made.transformer, classifier, takes_text=True)
    store.write(to, tagger, meta={"data": "api-docs", "method": "dismec"})
    found = evaluate_model(tagger, test.texts, test.Y, progress=False if quiet else None)
    screen = console()
    print_evaluation(found, "api-docs", screen)
    _show_predictions(tagger, test, screen)
    screen.print(
        f"The model is in {to} ({time.monotonic() - started:.0f} s). Go on with it:\n\n"
        f"  longtail inspect {to}\n"
        f'  echo "eigenvalues of a sparse matrix" | longtail predict {to} -\n',
        soft_wrap=True,
    )
    print_missing_extras()


def _show_predictions(tagger: Tagger, test: Dataset, screen: Console) -> None:
    from longtail.report import predictions_table, printable

    assert test.texts is not None
    rows = _some_rows(test)
    texts = [test.texts[row] for row in rows]
    truth = test.subset(rows).label_sets()
    screen.print("Some of the test texts, with the labels predicted and why\n")
    for text, true, predicted in zip(texts, truth, tagger.tag(texts, LABELS_SHOWN), strict=True):
        reasons = [tagger.explain(text, name, n=REASONS_SHOWN) for name, _ in predicted]
        screen.print(f"“{printable(text, 200)}”", style="italic")
        screen.print(predictions_table(predicted, true=true, reasons=reasons))
        missed = [printable(name) for name in true if name not in dict(predicted)]
        if missed:
            screen.print(f"  Missed: {', '.join(missed)}\n", style="dim")


def _some_rows(test: Dataset) -> list[int]:
    """A few texts of more than a line, with several labels, evenly spaced."""
    assert test.texts is not None
    good = [
        row
        for row, (text, labels) in enumerate(zip(test.texts, test.label_sets(), strict=True))
        if len(text) > 300 and len(labels) >= 3
    ]
    return good[:: max(1, len(good) // SHOWN)][:SHOWN]
