"""The page that shows how to add a method: its example is a whole one, held to the contract."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import types

import pytest
from sklearn.base import clone

import longtail
from tests import test_contract
from tests.conftest import ROOT
from tests.test_contract import names_of

CODE = re.search(
    r"```python\n(.*?)```", (ROOT / "docs" / "architecture.md").read_text(), flags=re.S
).group(1)
MODULE = "example_of_the_page"


@pytest.fixture(scope="module")
def example():
    assert len(CODE.splitlines()) < 60
    module = types.ModuleType(MODULE)
    sys.modules[MODULE] = module
    exec(compile(CODE, "architecture.md", "exec"), vars(module))
    return module.LogisticOneVsRest(C=10.0)


@pytest.fixture
def classifier(example):
    return clone(example)


small = test_contract.small


class TestExample(test_contract.TestContract):
    """All tests of the contract, for the page's method."""

    def test_saved_model_predicts_the_same_in_a_new_process(self, classifier, small, tmp_path):
        """As there, but a method that is not in the library has to be imported first."""
        X, Y = small
        classifier.fit(X, names_of(Y)).save(tmp_path / "model")
        (tmp_path / f"{MODULE}.py").write_text(CODE)
        script = (
            f"import sys, longtail, {MODULE}\n"
            "model = longtail.load(sys.argv[1])\n"
            f"print(model.explain({X[0].tolist()}, 'sea').score.hex())"
        )
        there = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / "model")],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
        ).stdout
        assert there.strip() == classifier.explain(X[0], "sea").score.hex()
        assert longtail.load(tmp_path / "model").predict(X) == classifier.predict(X)

    def _be_killed(self, classifier, folder):
        """The fork server does not know the page's method; that its checkpoints serve after an
        interruption is tested all the same."""
        data = test_contract.trainings.problem()
        classifier.fit(data.X, data.Y, checkpoint=folder)
