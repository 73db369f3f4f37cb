"""What is kept of a paper: its tables, the names of its methods, and how its trials are set up."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longtail.data import Dataset
from longtail.errors import ParameterError

Values = dict[str, dict[str, dict[str, float]]]
"""Figures by data set, method and metric; metrics are named as in `longtail.metrics.Evaluation`."""


@dataclass(frozen=True)
class PublishedTable:
    """One table of a paper, in the paper's own figures.

    Attributes
    ----------
    number : str
        As printed, such as "4".
    place : str
        Where in the paper it stands.
    values : dict
        By data set, method and metric, mostly in percent.
    scale : float
        What the metrics of longtail, which are shares of one, are multiplied with to compare.
    digits : int
        Digits after the point in the paper.
    """

    number: str
    place: str
    values: Values
    scale: float = 100.0
    digits: int = 1


@dataclass(frozen=True)
class FigureNote:
    """Something to know about figures of a paper that the figures themselves do not show.

    Attributes
    ----------
    about : str
        What is odd.
    table, dataset, method : str
        Where; empty for everywhere.
    """

    about: str
    table: str = ""
    dataset: str = ""
    method: str = ""


@dataclass(frozen=True)
class ChosenParameter:
    """How a parameter was chosen, on a part of the training data that was held out.

    Attributes
    ----------
    method : str
        The method, as the paper calls it.
    parameter : str
        Its parameter.
    values : tuple
        Those tried.
    features : tuple of dict
        Row scalings tried, as parameters of `RowScaler`.
    metric : str
        What had to be largest.
    """

    method: str
    parameter: str
    values: tuple[float, ...]
    features: tuple[Mapping[str, Any], ...]
    metric: str = "nDCG@5"


@dataclass(frozen=True)
class Trial:
    """How the methods of a paper are run on one data set.

    Attributes
    ----------
    dataset : str
        As the tables call it.
    folder : str
        Where it is in the folder of benchmark sets.
    features : dict
        Parameters of the `RowScaler`, or for texts of the `TextFeatures`, for all methods but those
        that want counts.
    parameters : dict
        By method of the paper, the parameters that differ from the defaults here.
    choice : ChosenParameter or None
        How `features` and one of the parameters were found; `choose` does it again.
    slow : tuple of str
        Methods that are left out unless asked for, since they take long here.
    about : str
        Why it is set up so.
    make : callable, optional
        For data that depend on a seed, made up or sampled: gets the folder of benchmark sets and
        the seed, and gives the training part, the test part, and by metric the best that any method
        can reach on it, where that is known.
    seeds : tuple of int
        The trial is run once for each; figures are means.
    made_up : bool
        Whether the data come from `make` alone, so that no folder is needed.
    n_classes : int or None
        Classes of a sample, where trials differ in nothing else; what is drawn against.
    shift_test_labels : int
        What is added to the numbers of the labels in the test part, where they are wrong.
    """

    dataset: str
    folder: str
    features: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    choice: ChosenParameter | None = None
    slow: tuple[str, ...] = ()
    about: str = ""
    make: Callable[[Path, int], tuple[Dataset, Dataset, dict[str, float]]] | None = None
    seeds: tuple[int, ...] = (0,)
    made_up: bool = False
    n_classes: int | None = None
    shift_test_labels: int = 0


@dataclass(frozen=True)
class Paper:
    """A paper whose experiments can be done again.

    Attributes
    ----------
    key : str
        Its name at the command line.
    title, source : str
        What it is called, and who published it where.
    methods : dict
        Names of its methods, and what they are called at the command line of longtail, whether
        they are built already or not. The paper's own method comes first.
    tables : tuple of PublishedTable
        Its figures.
    trials : tuple of Trial
        The data sets that are available.
    also : tuple of str
        Metrics to show beside those of the tables, rankings without their ranks.
    variants : tuple of str
        Methods beside those of the tables, run on every data set: its own with parts left out.
    with_tail : tuple of str
        Methods that are also shown with a tail weight, chosen on training data.
    notes : tuple of FigureNote
        What looks wrong about the figures.
    counts_parameters : bool
        Whether the paper says how many parameters its models have.
    """

    key: str
    title: str
    source: str
    methods: Mapping[str, str]
    tables: tuple[PublishedTable, ...]
    trials: tuple[Trial, ...]
    also: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    with_tail: tuple[str, ...] = ()
    notes: tuple[FigureNote, ...] = ()
    counts_parameters: bool = False

    @property
    def own_method(self) -> str:
        """The method that the paper is about."""
        return next(iter(self.methods))

    def trial(self, name: str) -> Trial:
        """The trial on a data set, by its name or folder in any case; the first, if several."""
        return self.trials_on(name)[0]

    def trials_on(self, name: str) -> list[Trial]:
        """The trials on a data set, by its name or folder in any case."""
        found = [
            trial
            for trial in self.trials
            if name.lower() in (trial.dataset.lower(), trial.folder.lower())
        ]
        if not found:
            known = ", ".join(
                dict.fromkeys(each for trial in self.trials for each in _names(trial))
            )
            raise ParameterError(f"{self.key} has no data set {name!r} here; it has {known}.")
        return found

    def methods_on(self, trial: Trial) -> list[str]:
        """The methods that its tables have on a data set, and the variants; all, where no table has
        the data set."""
        values = [
            table.values[trial.dataset] for table in self.tables if trial.dataset in table.values
        ]
        return [
            name
            for name in self.methods
            if not values or name in self.variants or any(name in each for each in values)
        ]

    def method(self, name: str) -> str:
        """The paper's name of a method, which may be given by longtail's name, in any case."""
        for ours, known in self.methods.items():
            if name.lower() in (ours.lower(), known):
                return ours
        names = ", ".join(self.methods)
        raise ParameterError(f"{self.key} has no method {name!r}; its methods are {names}.")

    def table(self, number: str) -> PublishedTable:
        """The table of a number."""
        for table in self.tables:
            if table.number == number:
                return table
        raise KeyError(number)


def _names(trial: Trial) -> tuple[str, ...]:
    """What a trial is called at the command line."""
    dataset = trial.dataset.lower()
    return (trial.folder,) if trial.n_classes is None else (trial.folder, dataset)


def read_paper(key: str, *, trials: tuple[Trial, ...]) -> Paper:
    """The paper of a key, with what the file of that name in this folder says of it.

    Parameters
    ----------
    key : str
        The file is `key.toml`: title, source, methods, tables and notes, named as in `Paper`. The
        figures of a table are one text, with the metrics that its letters stand for; see
        `read_table`.
    trials : tuple of Trial
        How its methods are run here.

    Examples
    --------
    >>> read_paper("proxml", trials=()).table("4").values["Bibtex"]["ProXML"]["PSP@1"]
    50.1
    """
    with (Path(__file__).parent / f"{key}.toml").open("rb") as file:
        given = tomllib.load(file)
    columns = [name for name in given["methods"] if name not in given.get("variants", ())]
    tables = tuple(
        PublishedTable(values=read_table(text, columns, metrics), **table)
        for table in given.pop("tables")
        for text, metrics in [(table.pop("figures"), table.pop("metrics"))]
    )
    notes = tuple(FigureNote(**note) for note in given.pop("notes"))
    lists = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
    return Paper(tables=tables, trials=trials, notes=notes, **(given | lists))


def read_table(text: str, methods: Iterable[str], metrics: Mapping[str, str]) -> Values:
    """The values of a table that is written as lines of data set, metric and one figure per method.

    Parameters
    ----------
    text : str
        The lines; a dash is a figure that the paper does not have.
    methods : names
        Of the columns, from left to right.
    metrics : dict
        What the paper calls a metric, before the @, and what longtail calls it.

    Examples
    --------
    >>> read_table("Bibtex N@1 50.1 -", ("ProXML", "SLEEC"), {"N": "PSnDCG"})
    {'Bibtex': {'ProXML': {'PSnDCG@1': 50.1}}}
    """
    found: Values = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        dataset, metric, *figures = line.split()
        name, at, k = metric.partition("@")
        for method, figure in zip(methods, figures, strict=True):
            if figure != "-":
                row = found.setdefault(dataset, {}).setdefault(method, {})
                row[metrics[name] + at + k] = float(figure)
    return found
