"""The page that shows how to add a method: its example is a whole one, held to the contract."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
import types
import zipfile

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import longtail
from longtail.testing import names_of
from tests import test_contract
from tests.cli.files import write_docs, write_features
from tests.conftest import ROOT
from tests.forking import run_script
from tests.pages import python_blocks

PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
CODE, FEATURES = python_blocks(PAGE)
PLACE = re.match(r"# src/longtail/methods/(\w+)/(\w+)\.py\n", CODE).groups()
MODULE = "example_of_the_page"


def _example():
    module = sys.modules[MODULE] = types.ModuleType(MODULE)
    exec(compile(CODE, "architecture.md", "exec"), vars(module))
    return module.LogisticOneVsRest(C=10.0)


EXAMPLE = _example()


@pytest.fixture
def classifier():
    return clone(EXAMPLE)


small = test_contract.small
shared = test_contract.shared


def python(script, *words, folder):
    """Run a script in a new process that can import what is in a folder, and the tests."""
    places = [str(folder), str(ROOT), os.environ.get("PYTHONPATH", "")]
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))},
    )


def test_it_is_short():
    assert len(CODE.splitlines()) < 60


@parametrize_with_checks([EXAMPLE])
def test_scikit_learn_check(estimator, check):
    check(estimator)


class TestExample(test_contract.TestContract):
    """All tests of the contract, for the page's method."""

    def test_saved_model_predicts_the_same_in_a_new_process(self, classifier, small, tmp_path):
        """Trained in one new process, used in another; each imports the method first."""
        X, Y = small
        (tmp_path / f"{MODULE}.py").write_text(CODE)
        given = f"X, Y = {X.tolist()}, {names_of(Y)}\n"
        place = [str(tmp_path / "model")]
        train = f"{MODULE}.LogisticOneVsRest(C=10.0).fit(X, Y).save(sys.argv[1])"
        trained = run_script(f"import sys, {MODULE}\n{given}{train}", place, str(tmp_path))
        assert trained == (0, "")
        use = (
            f"import sys, longtail\n{given}model = longtail.load(sys.argv[1])\n"
            "print(model.predict(X), [v.hex() for v in model.predict_topk(X, 3).data.tolist()])"
        )
        there = run_script(f"import {MODULE}\n{use}", place, str(tmp_path))
        classifier.fit(X, names_of(Y))
        scores = [v.hex() for v in classifier.predict_topk(X, 3).data.tolist()]
        assert there == (0, f"{classifier.predict(X)} {scores}\n")
        code, said = run_script(use, place, str(tmp_path))
        assert code == 1
        assert f"ModelError: {tmp_path / 'model'}" in said
        assert "nothing here is called 'logistic'; install the package" in said

    def _be_killed(self, classifier, folder, tmp_path):
        """As there, in a process that imports the page's method."""
        if os.name == "nt":
            return
        (tmp_path / f"{MODULE}.py").write_text(CODE)
        code, _ = run_script(
            f"import sys, pathlib, {MODULE}\nfrom tests import trainings\n"
            f"model = {MODULE}.LogisticOneVsRest(**{classifier.get_params()})\n"
            "trainings.train_and_die(model, pathlib.Path(sys.argv[1]))",
            [str(folder)],
            str(tmp_path),
        )
        assert code == -signal.SIGKILL
        assert test_contract.trainings.has_pieces(folder)


def test_a_file_in_a_family_and_a_line_in_the_registry_are_all_it_takes(tmp_path):
    """The command line lists it, trains it and uses the model; the shared tests run it."""
    family, name = PLACE
    (tmp_path / "family").mkdir()
    (tmp_path / "family" / f"{name}.py").write_text(CODE)
    write_features(tmp_path / "train.txt", tmp_path / "test.txt")
    script = (
        f"import sys, longtail.methods.{family}\n"
        f"longtail.methods.{family}.__path__.append(sys.argv[1] + '/family')\n"
        "from longtail.methods import registry\n"
        f"registry.OURS['logistic'] = '{family}.{name}:LogisticOneVsRest'\n"
        "from tests.cli.conftest import call\n"
        "from tests.instances import instances\n"
        "assert 'logistic' in [each.method for each in instances()]\n"
        "data, test, model = (sys.argv[1] + '/' + x for x in ('train.txt', 'test.txt', 'model'))\n"
        "assert 'logistic' in call('methods').out\n"
        "for words in (('train', data, '-m', 'logistic', '--set', 'C=5', '--to', model),\n"
        "              ('evaluate', model, test), ('predict', model, test)):\n"
        "    outcome = call(*words)\n"
        "    assert outcome.code == 0, outcome\n"
        "print(call('inspect', model).out)"
    )
    done = python(script, tmp_path, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"Method +logistic \(tagger\)", done.stdout)
    saved = json.loads((tmp_path / "model" / "model.json").read_text())
    assert saved["stored_as"] == "tagger"
    assert saved["state"]["state"]["learned"]["classifier_"]["as"] == "logistic"
    assert "LogisticOneVsRest" not in json.dumps(saved)
    assert "logistic" not in longtail.methods.registry.methods()


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The page's classifier and its features in a package of their own, installed by pip."""
    folder = tmp_path_factory.mktemp("package")
    toml = re.search(r'```toml title="pyproject.toml"\n(.*?)```', PAGE, re.S)[1]
    groups = tomllib.loads(toml)["project"]["entry-points"]
    groups["longtail.methods"]["broken"] = "coastal.nowhere:Model"
    points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {home}\n" for name, home in homes.items())
        for group, homes in groups.items()
    )
    info = "coastal-1.0.dist-info"
    files = {
        "coastal/__init__.py": "",
        "coastal/logistic.py": CODE,
        "coastal/hashed.py": FEATURES,
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: coastal\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": points,
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    wheel = folder / "coastal-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    options = ["--no-index", "--no-deps", "--quiet", "--target", folder / "site"]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, wheel], check=True)
    return folder / "site"


def test_a_package_of_its_own_trains_saves_and_loads(installed, tmp_path):
    write_docs(tmp_path / "train.jsonl", tmp_path / "test.jsonl")
    script = (
        "import sys\n"
        "from tests.cli.conftest import call\n"
        "data, test, model = (sys.argv[1] + x for x in ('/train.jsonl', '/test.jsonl', '/model'))\n"
        "listed = call('methods', '--json').json\n"
        "summaries = {each['method']: each['summary'] for each in listed}\n"
        "assert \"'broken' cannot be imported from coastal.nowhere\" in summaries['broken']\n"
        "assert 'logistic' in summaries and 'dismec' in summaries\n"
        "assert 'One logistic regression per label' in call('methods', 'logistic').out\n"
        "train = ('train', data, '--to', model, '-m', 'logistic', '--features', 'hashed-words')\n"
        "for words in ((*train, '--set', 'C=5', '--norm', 'l1'), ('evaluate', model, test)):\n"
        "    outcome = call(*words)\n"
        "    assert outcome.code == 0, outcome\n"
        "refused = call(*train, '--min-df', '2')\n"
        "assert \"'hashed-words' have no --min-df; leave\" in refused.err, refused\n"
        "print(call('predict', model, test).out)"
    )
    trained = python(script, tmp_path, folder=installed)
    assert trained.returncode == 0, trained.stderr
    saved = json.loads((tmp_path / "model" / "model.json").read_text())
    learned = saved["state"]["state"]["learned"]
    assert [learned[part]["as"] for part in ("features_", "classifier_")] == [
        "hashed-words",
        "logistic",
    ]
    use = (
        "import sys, longtail\n"
        "model = longtail.load(sys.argv[1] + '/model')\n"
        "print(model.features, type(model.classifier_).__module__, model.takes_text)\n"
        "print(model.predict(['sand and sea']) == model.predict(['sea and sand']))\n"
        "longtail.load(sys.argv[1] + '/model').save(sys.argv[1] + '/again')\n"
        "from longtail.testing import check_classifier\n"
        "check_classifier(type(model.classifier_)(C=10.0))"
    )
    used = python(use, tmp_path, folder=installed)
    assert used.returncode == 0, used.stderr
    assert used.stdout == "HashedWords(norm='l1') coastal.logistic True\nTrue\n"
    there, here = (tmp_path / name / "arrays.safetensors" for name in ("again", "model"))
    assert there.read_bytes() == here.read_bytes()
    code, said = run_script(use, [str(tmp_path)], str(tmp_path))
    assert code == 1
    assert "nothing here is called 'logistic'; install the package" in said
