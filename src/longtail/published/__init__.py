"""The papers' own figures as data, and what longtail makes of the same experiments.

A paper is one file in this folder that defines `PAPER`; `papers()` finds it.
"""

from longtail.published.paper import Choice, Noted, Paper, PublishedTable, Trial, read_table
from longtail.published.registry import find_paper, papers
from longtail.published.reproducing import (
    Candidate,
    Cell,
    OpenTrial,
    Reproduced,
    choose,
    open_trial,
    place_of,
    read_trial,
    reproduce,
    run_method,
    with_choice,
)
from longtail.published.slips import Slip, slips

__all__ = [
    "Candidate",
    "Cell",
    "Choice",
    "Noted",
    "OpenTrial",
    "Paper",
    "PublishedTable",
    "Reproduced",
    "Slip",
    "Trial",
    "choose",
    "find_paper",
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
