"""The papers' tables as data, and their reproduction; two files per paper, `.toml` and `.py`."""

from longtail.papers.contradictions import Contradiction, find_contradictions
from longtail.papers.paper import (
    ChosenParameter,
    FigureNote,
    Paper,
    PublishedTable,
    Trial,
    read_paper,
    read_table,
)
from longtail.papers.registry import find_paper, papers
from longtail.papers.reproducing import Candidate, choose, reproduce, run_method, with_choice
from longtail.papers.rows import Cell, Reproduced
from longtail.papers.significance import Difference, differences, least_p
from longtail.papers.trial_data import PreparedTrial, place_of, prepare_trial, read_trial

__all__ = [
    "Candidate",
    "Cell",
    "ChosenParameter",
    "Contradiction",
    "Difference",
    "FigureNote",
    "Paper",
    "PreparedTrial",
    "PublishedTable",
    "Reproduced",
    "Trial",
    "choose",
    "differences",
    "find_contradictions",
    "find_paper",
    "least_p",
    "papers",
    "place_of",
    "prepare_trial",
    "read_paper",
    "read_table",
    "read_trial",
    "reproduce",
    "run_method",
    "with_choice",
]
