"""The options that say how features are made, as `TextFeatures` and `RowScaler` declare them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from longtail.methods.catalogue import catalogue

FEATURES = "Features"


def _option(name: str, *names: str, remark: str = "", metavar: str | None = None) -> Any:
    """The option of the parameter of that name, with the first sentence about it."""
    about = {one["name"]: one["about"] for one in catalogue()["TextFeatures"]["parameters"]}[name]
    return typer.Option(
        *names,
        help=f"{about.partition('. ')[0].rstrip('.')}. {remark}".strip(),
        metavar=metavar,
        show_default=False,
        rich_help_panel=FEATURES,
    )


Analyzer = Annotated[
    str | None, _option("analyzer", remark="word, char or char_wb.", metavar="NAME")
]
NgramRange = Annotated[
    str | None,
    _option("ngram_range", remark="1,2 means single words and pairs.", metavar="N,N"),
]
MinDf = Annotated[str | None, _option("min_df", metavar="X")]
MaxDf = Annotated[str | None, _option("max_df", metavar="X")]
MaxFeatures = Annotated[str | None, _option("max_features", metavar="N")]
StopWords = Annotated[
    str | None,
    _option("stop_words", remark="english, or a file with words.", metavar="WORDS"),
]
RowNorm = Annotated[
    str | None,
    _option("norm", remark="l2 (the default, but for counts), l1, max or none.", metavar="NORM"),
]
ValueDamping = Annotated[
    str | None, _option("damping", remark="sqrt, log or none (the default).", metavar="NAME")
]
Idf = Annotated[
    bool | None,
    _option("idf", "--idf/--no-idf", remark="By default for texts only, and not for counts."),
]
