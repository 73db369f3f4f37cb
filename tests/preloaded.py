"""What the tests' fork server has imported and compiled before it forks; import it nowhere."""

from __future__ import annotations

import longtail.cli._measured

from longtail import Tagger
from longtail.cli._models import Model
from longtail.data import make_longtail
from tests import peaks, trainings  # noqa: F401
from tests.cli import killable  # noqa: F401

_data = make_longtail(60, 80, 8, labels_per_sample=2, random_state=0)
longtail.cli._measured.measure(Model(Tagger().fit(_data.X, _data.Y)), _data, k=[1])
