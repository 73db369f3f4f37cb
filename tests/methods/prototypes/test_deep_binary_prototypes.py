"""`DeepBinaryPrototypes`: prediction without torch, stored models, odd input, explanations."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import longtail
from longtail.data import make_longtail
from longtail.errors import (
    InputError,
    LongtailWarning,
    MissingExtraError,
    ModelError,
    ParameterError,
)
from longtail.methods.prototypes import DeepBinaryPrototypes, unpacked
from longtail.search import vote

torch = pytest.importorskip("torch")

SMALL = {"n_bits": 32, "hidden": 64, "ratio": 0.5, "learning_rate": 0.01, "max_rounds": 4}
QUICK = SMALL | {"steps": 20, "validation": 0.0, "n_neighbors": 1}


@pytest.fixture(scope="module")
def data():
    return make_longtail(300, 100, 30, random_state=0)


@pytest.fixture(scope="module")
def fitted(data):
    return DeepBinaryPrototypes(**SMALL).fit(data.X, data.Y)


def same(one, two):
    return np.array_equal(one.indices, two.indices) and np.array_equal(one.data, two.data)


def test_prediction_is_algorithm_1(data, fitted):
    """Codes, the nearest prototypes, the mean of their labels, the threshold: by brute force."""
    codes, prototypes = fitted.codes(data.X), unpacked(fitted.codes_, 32)
    far = (codes[:, None] != prototypes[None]).sum(axis=2)
    nearest = np.argsort(far, axis=1, kind="stable")[:, : fitted.n_neighbors_]
    shares = fitted.prototype_labels_.toarray()[nearest].mean(axis=1)
    assert np.array_equal(fitted.predict(data.X).toarray(), (shares >= 0.5).astype(int))
    voted = vote(fitted.prototype_labels_, nearest)
    assert np.allclose(
        fitted.predict_proba(data.X, threshold=0).toarray(), voted.toarray(), atol=1e-5
    )


def test_what_is_learned_fits(data, fitted):
    m = 150
    assert fitted.codes_.shape == (m, 1)
    assert fitted.prototype_labels_.shape == (m, 30)
    assert fitted.prototype_sizes_.sum() == 270
    assert fitted.objective_.shape == (4, 3)
    assert fitted.best_round_ == fitted.validation_f1_.argmax()
    assert fitted.closest_points_.max() < 300
    assert fitted.n_neighbors_ in (1, 5, 10, 20)
    for bit in range(32):
        constant = len(np.unique(unpacked(fitted.codes_, 32)[:, bit])) == 1
        assert constant == (bit in fitted.dead_bits_)


def test_saved_and_loaded_it_predicts_the_same_without_torch(data, fitted, tmp_path):
    fitted.save(tmp_path / "model")
    sp.save_npz(tmp_path / "x.npz", sp.csr_matrix(data.X))
    script = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in ('torch', 'faiss'):\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "import longtail, scipy.sparse as sp\n"
        "from longtail.methods.prototypes import DeepBinaryPrototypes\n"
        "from longtail.errors import MissingExtraError\n"
        "model = longtail.load(sys.argv[1] + '/model')\n"
        "X = sp.load_npz(sys.argv[1] + '/x.npz')\n"
        "sp.save_npz(sys.argv[1] + '/y.npz', sp.csr_matrix(model.predict_topk(X, 5)))\n"
        "try:\n"
        "    DeepBinaryPrototypes().fit(X, X > 0)\n"
        "except MissingExtraError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == (
        'Deep binary prototypes need torch, which is not installed: pip install "longtail[deep]"\n'
    )
    there = sp.csr_array(sp.load_npz(tmp_path / "y.npz"))
    there.sort_indices()
    assert same(there, fitted.predict_topk(data.X, 5))


def test_without_torch_one_sentence_says_what_to_install(monkeypatch, data):
    real = importlib.import_module

    def importing(name, *rest):
        if name == "torch":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", importing)
    with pytest.raises(MissingExtraError, match=r'pip install "longtail\[deep\]"'):
        DeepBinaryPrototypes(**QUICK).fit(data.X, data.Y)


def test_explains_by_prototypes_and_points(data, fitted):
    column = int(data.Y[[0]].indices[0])
    why = fitted.explain(data.X[[0]], column)
    found = fitted._neighbours_of(data.X[[0]], fitted.n_neighbors_)
    votes = why.table("votes")
    assert votes["prototype"].to_list() == found.indices[0][:10].tolist()
    assert votes["bits apart"].to_list() == found.distances[0][:10].tolist()
    assert why.summary["share"] == pytest.approx(
        fitted.prototype_labels_[found.indices[0]].toarray()[:, column].mean()
    )
    first = fitted.prototype_labels_[[votes["prototype"][0]]]
    shares = dict(zip(votes["labels"][0], votes["shares"][0], strict=True))
    assert shares == dict(zip(first.indices.tolist(), first.data.tolist(), strict=True))
    assert (np.diff(votes["shares"][0]) <= 0).all()
    for rows in votes["closest points"]:
        assert set(rows) <= set(range(300))
    assert f"bits {fitted.encoder_.n_bits}" in str(why)
    assert "closest points" in str(why)


def test_size_report_counts_everything(data, fitted):
    report = fitted.size_report()
    assert report.prototypes.vectors == 150 * 32 // 8
    assert report.prototypes.networks == fitted.encoder_.nbytes
    assert report.prototypes.labels == 8 * fitted.prototype_labels_.nnz + 8 * 151
    assert report.dense_points.vectors == 300 * 100 * 8
    assert report.embeddings.vectors == 300 * 32 * 8
    assert report.points.labels == 4 * data.Y.nnz + 8 * 301
    table = report.table()
    assert (table["total"] == table["vectors"] + table["labels"] + table["networks"]).all()
    assert "networks" in str(report)


# ---- networks of one's own ---------------------------------------------------------------------


def own_encoder():
    return torch.nn.Sequential(torch.nn.Linear(100, 20), torch.nn.Tanh(), torch.nn.Linear(20, 32))


def test_a_model_with_an_encoder_of_ones_own_is_stored_as_tensors(data, tmp_path):
    module = own_encoder()
    model = DeepBinaryPrototypes(**QUICK, encoder=module).fit(data.X, data.Y)
    wanted = model.predict_topk(data.X, 3)
    assert clone(model).encoder is not module
    model.save(tmp_path / "model")
    loaded = longtail.load(tmp_path / "model")
    assert loaded.encoder is None
    with pytest.raises(ModelError, match="attach_encoder"):
        loaded.predict(data.X)
    with pytest.raises(ParameterError, match="build it as it was"):
        loaded.attach_encoder(torch.nn.Linear(100, 32))
    with pytest.raises(ParameterError, match=r"torch\.nn\.Module"):
        loaded.attach_encoder("module")
    loaded.attach_encoder(own_encoder())
    assert same(loaded.predict_topk(data.X, 3), wanted)


def test_only_own_encoders_are_attached(fitted):
    with pytest.raises(ParameterError, match="default encoder"):
        fitted.attach_encoder(own_encoder())


def test_a_network_of_the_wrong_size_is_refused(data):
    with pytest.raises(ParameterError, match="n_bits is 32"):
        DeepBinaryPrototypes(**QUICK, encoder=torch.nn.Linear(100, 8)).fit(data.X, data.Y)
    with pytest.raises(ParameterError, match="the labels are 30"):
        DeepBinaryPrototypes(**QUICK, decoder=torch.nn.Linear(32, 8)).fit(data.X, data.Y)


# ---- odd input ---------------------------------------------------------------------------------


def test_fewer_than_ten_points_at_the_default_ratio():
    with pytest.raises(InputError, match=r"ratio of 0.1 makes no prototype of n_samples = 9"):
        DeepBinaryPrototypes().fit(np.eye(9), np.eye(9))


def test_fewer_label_sets_than_prototypes(data):
    Y = np.zeros((300, 2), dtype=int)
    Y[:150, 0] = 1
    with pytest.warns(LongtailWarning, match="2 distinct label sets, fewer than the 150"):
        model = DeepBinaryPrototypes(**QUICK).fit(data.X, Y)
    assert len(model.codes_) == 2


def test_more_neighbours_than_prototypes(data):
    with pytest.raises(ParameterError, match="n_neighbors is 20, but there are only 15 prototypes"):
        DeepBinaryPrototypes(**SMALL | {"ratio": 0.05, "n_neighbors": 20}).fit(data.X, data.Y)


def test_rows_without_labels(data):
    Y = data.Y.toarray()
    Y[::3] = 0
    model = DeepBinaryPrototypes(**QUICK).fit(data.X, Y)
    assert np.isfinite(model.predict_proba(data.X)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LongtailWarning)
        DeepBinaryPrototypes(**QUICK).fit(data.X, np.zeros((300, 3), dtype=int)).predict(data.X)


@pytest.mark.parametrize(
    ("settings", "cause"),
    [
        ({"ratio": 0}, "ratio must be"),
        ({"ratio": 1.5}, "ratio must be a number above 0 and at most 1"),
        ({"n_bits": 0}, "n_bits must be"),
        ({"hidden": 0}, "hidden must be"),
        ({"steps": 1.5}, "steps must be"),
        ({"mu": 0}, "mu must be"),
        ({"alpha": -1}, "alpha must be"),
        ({"tau": 0}, "tau must be"),
        ({"validation": 1.0}, "validation must be a share"),
        ({"learning": "deep"}, "learning must be 'joint'"),
        ({"start": "random"}, "start must be 'projections' or 'pca'"),
        ({"device": 3}, "device must be"),
        ({"warmup": -1}, "warmup must be"),
        ({"threshold": 0}, "threshold must be"),
        ({"validation": 0}, "n_neighbors can only be chosen on held-out points"),
        ({"validation": 0, "n_neighbors": 1, "threshold": None}, "threshold can only be chosen"),
    ],
)
def test_odd_parameters_are_refused(data, settings, cause):
    with pytest.raises(ParameterError, match=cause) as caught:
        DeepBinaryPrototypes(**settings).fit(data.X, data.Y)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("codes_", np.zeros((150, 2), dtype=np.uint64)),
        ("codes_", np.zeros((150, 1))),
        ("prototype_labels_", sp.csr_array((150, 29), dtype=np.float32)),
        ("prototype_sizes_", np.zeros(3, dtype=np.int64)),
        ("closest_points_", np.zeros((150, 2), dtype=np.int64)),
        ("encoder_", None),
        ("n_neighbors_", 0),
    ],
)
def test_altered_models_are_refused(data, fitted, tmp_path, name, value):
    fitted.save(tmp_path / "whole")
    altered = longtail.load(tmp_path / "whole")
    setattr(altered, name, value)
    altered.save(tmp_path / "model")
    with pytest.raises(ModelError):
        longtail.load(tmp_path / "model")


def test_threshold_chosen_on_held_out_points(data):
    model = DeepBinaryPrototypes(**SMALL, threshold=None).fit(data.X, data.Y)
    assert round(model.threshold_ * 20) == pytest.approx(model.threshold_ * 20)


def test_threads_do_not_change_the_model(data):
    one, two = (DeepBinaryPrototypes(**QUICK, n_jobs=n).fit(data.X, data.Y) for n in (1, 2))
    assert np.array_equal(one.codes_, two.codes_)
    assert np.array_equal(one.encoder_.tiles, two.encoder_.tiles)
    assert same(one.predict_topk(data.X, 5), two.predict_topk(data.X, 5))


@pytest.mark.parametrize("decoder", ["linear", "layers"])
def test_what_cannot_fit_is_refused_with_hidden_units_that_do(decoder):
    n_labels = 10**6
    X, Y = sp.csr_array((20_000, 10**6)), sp.csr_array((20_000, n_labels))
    with pytest.raises(InputError, match=r"[\d.]+ GB for .* take hidden=(64|128), or") as caught:
        DeepBinaryPrototypes(decoder=decoder).fit(X, Y)
    hidden = int(str(caught.value).partition("hidden=")[2].partition(",")[0])
    model = DeepBinaryPrototypes(decoder=decoder, hidden=hidden)
    assert model.estimate(X, Y).peak_bytes <= 4e9
    assert model.set_params(hidden=2 * hidden).estimate(X, Y).peak_bytes > 4e9


def test_where_no_hidden_units_help_it_is_not_said_that_they_do():
    X, Y = sp.csr_array((200, 10)), sp.csr_array((200, 2 * 10**7))
    with pytest.raises(InputError, match=r"[\d.]+ GB for .* GB; take fewer features or labels"):
        DeepBinaryPrototypes().fit(X, Y)
