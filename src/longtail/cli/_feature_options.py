"""The options that say how features are made, spelt once for the commands that have them."""

from __future__ import annotations

from typing import Annotated

import typer

FEATURES = "Features"

Analyzer = Annotated[
    str | None,
    typer.Option(help="Texts as word, char or char_wb.", metavar="NAME", rich_help_panel=FEATURES),
]
Ngrams = Annotated[
    str | None,
    typer.Option(
        help="Longest run of words, such as 2; or 2-3.", metavar="N", rich_help_panel=FEATURES
    ),
]
MinDf = Annotated[
    str | None,
    typer.Option(
        help="Leave out words of fewer texts: a number, or a share such as 0.01.",
        metavar="X",
        rich_help_panel=FEATURES,
    ),
]
MaxDf = Annotated[
    str | None,
    typer.Option(help="Leave out words of more texts.", metavar="X", rich_help_panel=FEATURES),
]
MaxFeatures = Annotated[
    int | None,
    typer.Option(
        help="Keep so many words, the most frequent.", metavar="N", rich_help_panel=FEATURES
    ),
]
StopWords = Annotated[
    str | None,
    typer.Option(
        help="Words to leave out: english, or a file with words.",
        metavar="WORDS",
        rich_help_panel=FEATURES,
    ),
]
RowNorm = Annotated[
    str | None,
    typer.Option(
        help="What becomes 1 in every row: l2 (the default, but for counts), l1, max or none.",
        metavar="NORM",
        rich_help_panel=FEATURES,
    ),
]
ValueDamping = Annotated[
    str | None,
    typer.Option(
        help="Damp the values: sqrt, log or none (as by default).",
        metavar="NAME",
        rich_help_panel=FEATURES,
    ),
]
Idf = Annotated[
    bool | None,
    typer.Option(
        "--idf/--no-idf",
        help="Weigh columns by rarity; by default for texts only, and not for counts.",
        show_default=False,
        rich_help_panel=FEATURES,
    ),
]
