"""Which method suits some data: facts that are measured, rules that follow from what was measured.

`recommend` is what to call; `facts` measures, `rules` is the table of rules.
"""

from longtail.recommendation.choice import Alternative, Recommendation, recommend
from longtail.recommendation.facts import DataFacts, measure_facts
from longtail.recommendation.rules import RULES, Rule, Want

__all__ = [
    "RULES",
    "Alternative",
    "DataFacts",
    "Recommendation",
    "Rule",
    "Want",
    "measure_facts",
    "recommend",
]
