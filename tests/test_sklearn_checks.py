"""scikit-learn's own checks, for every classifier."""

from __future__ import annotations

from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.instances import expected_failures, instances


@parametrize_with_checks(instances(), expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator, check):
    check(estimator)
