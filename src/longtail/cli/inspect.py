"""`longtail inspect`: what a data file, or a model folder, holds."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longtail import store
from longtail.cli._options import (
    Jobs,
    Json,
    Quiet,
    Reading,
    with_options,
)
from longtail.cli._output import console, indented, print_json, remark
from longtail.errors import LongtailError, ParameterError

if TYPE_CHECKING:
    from longtail.choosing import Recommendation, Want
    from longtail.data import Dataset


@with_options
def inspect(
    path: Annotated[
        Path, typer.Argument(metavar="DATA|MODEL", help="A data file, or a model folder.")
    ],
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the label frequencies to a png, svg, pdf or jpg.", metavar="FILE"),
    ] = None,
    graph: Annotated[bool, typer.Option(help="Whether to look at the label graph.")] = True,
    recommend: Annotated[bool, typer.Option(help="Whether to recommend a method.")] = True,
    want: Annotated[
        str | None,
        typer.Option(
            help="What the answers are for: ranking, sets, hamming, rare, accuracy or similar; by "
            "default what the data suggest.",
            metavar="WHAT",
        ),
    ] = None,
    jobs: Jobs = -1,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    reading: Reading,
) -> None:
    """Show size, tail, label graph and a method for a data set; or what a model is.

    Example:

    ```text
    longtail inspect docs.jsonl --plot labels.png
    longtail inspect docs.jsonl --want rare
    longtail inspect tagger
    ```
    """
    from longtail.cli._partial import refuse_partial

    if store.is_model(path):
        if plot is not None:
            raise ParameterError(
                "--plot draws the labels of data, and this is a model; leave it out."
            )
        _inspect_model(path, as_json)
        return
    refuse_partial(path)
    from longtail.choosing import check_want

    wish = check_want(want)
    if plot is not None:
        from longtail.report import check_plot_target

        check_plot_target(plot)
    data = reading.load(path, usual_part="train")
    advice = _recommended(data, wish, jobs) if recommend else None
    _inspect_data(data, path, graph, advice, reading, as_json)
    if plot is not None:
        from longtail.report import label_figure, save_figure

        title = f"{data.name or path.name}: {len(data):,} points, {data.n_labels:,} labels"
        save_figure(label_figure(data.Y, title=title), plot)
        remark(f"The plot is in {plot}.", quiet=quiet)


def _inspect_data(
    data: Dataset,
    path: Path,
    with_graph: bool,
    advice: Recommendation | str | None,
    reading: Reading,
    as_json: bool,
) -> None:
    from longtail.labels import tail_statistics
    from longtail.report import describe_graph, facts_table, hubs_table, printable, tail_table

    sizes = _sizes(data)
    tail = tail_statistics(data.Y)
    graph = describe_graph(data.Y, data.classes) if with_graph else None
    if as_json:
        print_json(
            {
                "data": str(path),
                "name": data.name,
                **sizes,
                "tail": tail.to_dict(),
                "graph": None if graph is None else graph.to_dict(),
                "recommendation": _as_plain_values(advice, path, reading),
            }
        )
        return
    screen = console()
    screen.print(facts_table(_in_words(sizes), f"{data.name or path.name}"))
    screen.print()
    screen.print(tail_table(tail, "Labels"))
    if graph is not None:
        facts = {
            "Components": f"{graph.components:,}, the largest with {graph.largest:,} labels",
            "Labels that occur alone": f"{graph.isolated:,}",
            "Labels a label occurs with": f"{graph.mean_neighbours:,.1f} on average",
            "Algebraic connectivity": f"{graph.connectivity:.4f} (of the largest component)",
        }
        screen.print()
        screen.print(facts_table(facts, "Label graph"))
        if graph.hubs:
            screen.print()
            screen.print(hubs_table(graph, "Hubs: labels that occur with the most others"))

    if isinstance(advice, str):
        screen.print()
        screen.print(advice)
    elif advice is not None:
        _print_recommendation(advice, screen)
        line = printable(shlex.join(_command(advice, path, reading)))
        screen.print(f"To train it:\n  {line}", soft_wrap=True)


def _recommended(data: Dataset, want: Want | None, jobs: int) -> Recommendation | str:
    """A method for the data, or the sentence that says why there is none."""
    from longtail.choosing import choose_method
    from longtail.features.made import FeaturesByKind

    texts = data.texts is not None
    try:
        features = FeaturesByKind(data.texts if texts else data.X)
        return choose_method(features, data.Y, text=texts, want=want, n_jobs=jobs)
    except LongtailError as error:
        return str(error)


def _as_plain_values(
    advice: Recommendation | str | None, path: Path, reading: Reading
) -> dict[str, Any] | None:
    """A recommendation and the words that train it; or why there is none, as its only reason."""
    if isinstance(advice, str):
        return {"method": None, "reasons": [advice], "command": None}
    if advice is None:
        return None
    return {**advice.to_dict(), "command": _command(advice, path, reading)}


def _print_recommendation(advice: Recommendation, screen: Any) -> None:
    from longtail.choosing import DECISIVE, WORDS
    from longtail.report import facts_table
    from longtail.runtime.estimates import size_in_words, time_in_words

    decide: dict[str, str] = {}
    others: dict[str, str] = {}
    for name, value in advice.facts.in_words().items():
        (others if DECISIVE.isdisjoint(WORDS[name]) else decide)[name] = value
    for facts, title in ((decide, "What decides"), (others, "Measured too, but no rule asks")):
        screen.print()
        screen.print(facts_table(facts, title))
    screen.print()
    screen.print(f"Recommended: {advice.method}")
    for reason in advice.reasons:
        screen.print(indented(reason))
    for one in advice.alternatives:
        need = advice.estimates[one.method]
        cost = f"{size_in_words(need.peak_bytes)}, {time_in_words(need.seconds)}"
        screen.print(indented(f"or {one.method} {one.prefer} ({cost})"))


def _command(advice: Recommendation, path: Path, reading: Reading) -> list[str]:
    """The words to type to train what is recommended."""
    where = ["--to", "MODEL", "--method", advice.method]
    return ["longtail", "train", str(path), *reading.words(), *where]


def _sizes(data: Dataset) -> dict[str, Any]:
    n = max(len(data), 1)
    sizes: dict[str, Any] = {"points": len(data), "labels": data.n_labels}
    if data.X is not None:
        sizes["features"] = data.n_features
        sizes["features_per_point"] = data.X.nnz / n
        sizes["smallest_value"] = float(data.X.data.min()) if data.X.nnz else None
        sizes["largest_value"] = float(data.X.data.max()) if data.X.nnz else None
    if data.texts is not None:
        sizes["words_per_text"] = sum(len(text.split()) for text in data.texts) / n
        sizes["empty_texts"] = sum(not text.strip() for text in data.texts)
    return sizes


def _in_words(sizes: dict[str, Any]) -> dict[str, str]:
    facts = {"Points": f"{sizes['points']:,}"}
    if "features" in sizes:
        facts["Features"] = f"{sizes['features']:,}, {sizes['features_per_point']:,.1f} a point"
        if sizes["smallest_value"] is not None:
            facts["Values"] = f"from {sizes['smallest_value']:.4g} to {sizes['largest_value']:.4g}"
    if "words_per_text" in sizes:
        empty = f", {sizes['empty_texts']:,} empty" if sizes["empty_texts"] else ""
        facts["Texts"] = f"{sizes['words_per_text']:,.1f} words on average{empty}"
    return facts


def _inspect_model(path: Path, as_json: bool) -> None:
    from longtail.cli._models import Model
    from longtail.report import facts_table

    described = store.read_meta(path)
    model = Model.load(path)
    classifier = model.classifier
    weights = getattr(classifier, "weights_", None)
    _, n_points = model.counts()
    facts: dict[str, Any] = {
        "model": str(path),
        "method": classifier.method,
        "stored_as": described.stored_as,
        "takes": "texts" if model.takes_text else "features",
        "labels": len(model.classes),
        "features": classifier.n_features_in_,
        "training points": n_points,
        "weights": None
        if weights is None
        else int(getattr(weights, "nnz", getattr(weights, "size", 0))),
        "bytes": sum(file.stat().st_size for file in path.iterdir()),
        "format": described.format,
        "parameters": classifier.get_params(deep=False),
        "notes": described.meta,
        "versions": described.versions,
    }
    if as_json:
        print_json(facts)
        return
    screen = console()
    screen.print(facts_table(_model_in_words(facts), f"{path}: whole and unaltered"))
    for title in ("parameters", "notes", "versions"):
        if facts[title]:
            screen.print()
            screen.print(facts_table(_flat(facts[title]), title.capitalize()))


def _model_in_words(facts: dict[str, Any]) -> dict[str, str]:
    from longtail.runtime.estimates import size_in_words

    words = {
        "Method": facts["method"] + (" (tagger)" if facts["stored_as"] == "tagger" else ""),
        "Takes": facts["takes"],
        "Labels": f"{facts['labels']:,}",
        "Features": f"{facts['features']:,}",
    }
    if facts["training points"] is not None:
        words["Training points"] = f"{facts['training points']:,}"
    if facts["weights"] is not None:
        words["Stored weights"] = f"{facts['weights']:,}"
    words["Size"] = f"{size_in_words(facts['bytes'])}, format {facts['format']}"
    return words


def _flat(table: dict[str, Any]) -> dict[str, Any]:
    """A table within a table as one line of `name value` pairs."""
    return {
        name: ", ".join(f"{key} {_short(each)}" for key, each in value.items())
        if isinstance(value, dict)
        else _short(value)
        for name, value in table.items()
    }


def _short(value: Any) -> Any:
    return f"{value:.4g}" if isinstance(value, float) else value
