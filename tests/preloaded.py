"""What the tests' fork server has imported and compiled before it forks; import it nowhere."""

from __future__ import annotations

import importlib
import pkgutil

import longtail.cli
import longtail.report
from longtail import Tagger
from longtail.data import make_longtail
from longtail.metrics import evaluate
from tests import peaks, trainings  # noqa: F401
from tests.cli import killable  # noqa: F401

for _module in pkgutil.iter_modules(longtail.cli.__path__, "longtail.cli."):
    importlib.import_module(_module.name)

_data = make_longtail(60, 80, 8, labels_per_sample=2, random_state=0)
_model = Tagger().fit(_data.X, _data.Y)
_top, _sets = _model.predict_topk(_data.X, 5), _model.predict(_data.X)
evaluate(_data.Y, Y_score=_top, Y_pred=_sets, Y_train=_data.Y)
