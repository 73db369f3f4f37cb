"""The papers' tables as data, and their reproduction; one file per paper."""

from longtail.papers.contradictions import Slip, slips
from longtail.papers.paper import ChosenParameter, Noted, Paper, PublishedTable, Trial, read_table
from longtail.papers.registry import find_paper, papers
from longtail.papers.reproducing import Candidate, choose, reproduce, run_method, with_choice
from longtail.papers.rows import Cell, Reproduced
from longtail.papers.significance import Difference, differences, least_p
from longtail.papers.trial_data import OpenTrial, open_trial, place_of, read_trial

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
