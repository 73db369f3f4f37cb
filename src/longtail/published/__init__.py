"""The papers' own figures as data, and what longtail makes of the same experiments.

A paper is one file in this folder that defines `PAPER`; `papers()` finds it.
"""

from longtail.published.opening import OpenTrial, open_trial, place_of, read_trial
from longtail.published.paper import (
    ChosenParameter,
    Noted,
    Paper,
    PublishedTable,
    Trial,
    read_table,
)
from longtail.published.registry import find_paper, papers
from longtail.published.reproducing import Candidate, choose, reproduce, run_method, with_choice
from longtail.published.rows import Cell, Reproduced
from longtail.published.significance import Difference, differences, least_p
from longtail.published.slips import Slip, slips

__all__ = [
    "Candidate",
    "Cell",
    "ChosenParameter",
    "Difference",
    "Noted",
    "OpenTrial",
    "Paper",
    "PublishedTable",
    "Reproduced",
    "Slip",
    "Trial",
    "choose",
    "differences",
    "find_paper",
    "least_p",
    "open_trial",
    "papers",
    "place_of",
    "read_table",
    "read_trial",
    "reproduce",
    "run_method",
    "slips",
    "with_choice",
]
