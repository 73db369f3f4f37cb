"""Which method suits some data: facts that are measured, rules that follow from what was measured.

`recommend` is what to call; `facts` measures, `rules` is the table of rules.
"""

from longtail.recommendation.choice import Alternative, Recommendation, check_want, recommend
from longtail.recommendation.facts import WORDS, DataFacts, measure_facts
from longtail.recommendation.rules import DECISIVE, RULES, Rule, Want

__all__ = [
    "DECISIVE",
    "RULES",
    "WORDS",
    "Alternative",
    "DataFacts",
    "Recommendation",
    "Rule",
    "Want",
    "check_want",
    "measure_facts",
    "recommend",
]
