"""Certificates: objectives by an independent count, who is better, what is said and drawn."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from longtail import report
from longtail.data import make_longtail, read_dataset
from longtail.errors import InputError, ParameterError
from longtail.methods.linear import CCDL1, BinaryRelevance, Certificate, DiSMEC, ProXML, certify


@pytest.fixture(scope="module")
def data():
    return make_longtail(150, 60, 20, power=0.7, random_state=0)


@pytest.fixture(scope="module")
def proxml(data):
    return ProXML(strength=0.5, tol=1e-4).fit(data.X, data.Y)


@pytest.fixture(scope="module")
def certificate(data, proxml):
    return certify(data.X, data.Y, proxml, tol=1.0)


def by_definition(data, W, strength):
    A = np.hstack([data.X.toarray(), np.ones((data.X.shape[0], 1))])
    S = 2 * data.Y.toarray() - 1
    slack = np.maximum(0, 1 - S * (A @ W))
    G = -2 * A.T @ (S * slack)
    off, on = np.maximum(np.abs(G) - strength, 0), np.abs(G + strength * np.sign(W))
    violation = np.where(W == 0, off, on).max(axis=0) / strength
    return strength * np.abs(W).sum(axis=0) + (slack**2).sum(axis=0), violation


def test_objectives_and_violations_are_counted_from_the_stored_weights(data, proxml, certificate):
    W = proxml.weights_.toarray().astype(float)
    value, violation = by_definition(data, W, 0.5)
    table = certificate.table
    assert table["objective"].to_numpy() == pytest.approx(value, rel=1e-10)
    assert table["violation"].to_numpy() == pytest.approx(violation, rel=1e-6, abs=1e-9)
    assert table["violation"].max() <= 1e-3  # 1e-4 before the weights were rounded
    peer = CCDL1(tol=1.0).fit(data.X, data.Y)
    assert table["liblinear"].to_numpy() == pytest.approx(peer.objective_, rel=1e-12)
    assert table["liblinear_violation"].to_numpy() == pytest.approx(peer.violation_)
    assert table["liblinear_sweeps"].to_list() == peer.n_iter_.tolist()
    difference = table["objective"].to_numpy() / table["liblinear"].to_numpy() - 1
    assert table["difference"].to_numpy() == pytest.approx(difference)
    assert table["positives"].to_list() == data.Y.toarray().sum(axis=0).tolist()
    assert (table["liblinear_seconds"] > 0).all()


@pytest.mark.parametrize("method", [ProXML, CCDL1])
def test_every_label_is_compared_at_its_own_strength(data, method):
    longer = SimpleNamespace(X=data.X * 3.0, Y=data.Y)
    model = method(strength=(0.2, 0.3), tol=1e-3).fit(longer.X, longer.Y)
    found = certify(longer.X, longer.Y, model, tol=1e-3)
    counts = np.bincount(data.Y.indices, minlength=data.Y.shape[1])
    usual = np.sqrt((longer.X.data.astype(float) ** 2).sum() / longer.X.shape[0])
    strengths = 0.2 * usual * counts**0.3
    assert found.strength == pytest.approx((strengths.min(), strengths.max()))
    value, _ = by_definition(longer, model.weights_.toarray().astype(float), strengths)
    assert found.table["objective"].to_numpy() == pytest.approx(value, rel=1e-9)
    assert found.worse == 0


def test_what_a_model_says_about_itself_plays_no_part(data, proxml):
    liar = ProXML(tol=1e-4).fit(data.X, data.Y)
    liar.objective_ = np.zeros(20)
    liar.violation_ = np.zeros(20)
    table = certify(data.X, data.Y, liar, labels=4).table
    assert (table["objective"] > 0.1).all()


def test_shares_add_up(certificate):
    assert certificate.better + certificate.equal + certificate.worse == 20
    assert certificate.worse == 0
    assert certificate.better > 0  # liblinear was told to stop early
    assert sum(certificate.shares.values()) == pytest.approx(1)


def test_against_an_exact_liblinear_all_are_equal(data, proxml):
    exact = certify(data.X, data.Y, proxml, labels=6, tol=1e-5, max_iter=100_000)
    assert exact.equal == 6
    assert exact.table["liblinear_violation"].max() < 0.05


def test_other_linear_models_are_points_of_the_objective_too(data):
    dismec = DiSMEC(C=2.0, prune=0.0).fit(data.X, data.Y)
    found = certify(data.X, data.Y, dismec, strength=0.5)
    assert found.worse == 20
    value, _ = by_definition(data, dismec.weights_.toarray().astype(float), 0.5)
    assert found.table["objective"].to_numpy() == pytest.approx(value)
    with pytest.raises(ParameterError, match="DiSMEC has no strength"):
        certify(data.X, data.Y, dismec)
    assert certify(data.X, data.Y, BinaryRelevance().fit(data.X, data.Y), 2, strength=1.0).worse


def test_which_labels(data):
    names = [f"w{j}" for j in range(20)]
    model = CCDL1().fit(data.X, data.Y, label_names=names)
    some = certify(data.X, data.Y, model, ["w7", "w2"])
    assert some.table["label"].to_list() == ["w7", "w2"]
    five = certify(data.X, data.Y, model, 5)
    counts = data.Y.toarray().sum(axis=0)
    assert len(five.table) == 5
    assert five.table["positives"].max() == counts.max()
    assert five.table["positives"].min() == counts.min()
    assert len(certify(data.X, data.Y, model, 500).table) == 20
    with pytest.raises(InputError, match="knows no label 'w99'"):
        certify(data.X, data.Y, model, ["w99"])
    with pytest.raises(ParameterError, match="at least 1"):
        certify(data.X, data.Y, model, 0)


def test_forms_of_labels_agree(data):
    rows = [tuple(f"w{j:02d}" for j in np.flatnonzero(row)) for row in data.Y.toarray()]
    named = CCDL1().fit(data.X, rows)
    columns = [int(name[1:]) for name in named.classes_]
    plain = CCDL1().fit(data.X, data.Y)
    first = certify(data.X, rows, named).table
    second = certify(data.X, data.Y.toarray(), plain).table
    assert first["objective"].to_list() == second["objective"].gather(columns).to_list()


def test_labels_that_liblinear_cannot_be_asked_about_are_left_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    Y = np.column_stack([np.ones(30), np.zeros(30), X[:, 0] > 0]).astype(int)
    found = certify(X, Y, CCDL1().fit(X, Y))
    assert found.table["label"].to_list() == ["2"]
    assert found.left_out == 2
    nothing = certify(X, Y, CCDL1().fit(X, Y), [0, 1])
    assert len(nothing.table) == 0
    assert "0 labels" in str(nothing)
    assert sum(nothing.shares.values()) == 0


@pytest.mark.parametrize(
    ("settings", "cause"),
    [({"loss": "logistic"}, "logistic loss"), ({"penalize_bias": False}, "not penalised")],
)
def test_models_of_another_objective_are_refused(data, settings, cause):
    model = ProXML(solver="accelerated", **settings).fit(data.X, data.Y[:, :2])
    with pytest.raises(ParameterError, match=cause):
        certify(data.X, data.Y[:, :2], model)


def test_bad_input_is_refused(data, proxml):
    with pytest.raises(InputError, match="it was trained on"):
        certify(data.X, data.Y[:, :3], proxml)
    with pytest.raises(InputError, match="rows"):
        certify(data.X[:5], data.Y, proxml)
    with pytest.raises(InputError):
        certify(data.X[:, :3], data.Y, proxml)
    with pytest.raises(ParameterError, match="linear one-vs-rest"):
        certify(data.X, data.Y, "model")
    for settings in ({"tol": 0}, {"max_iter": 0}, {"strength": -1.0}, {"n_jobs": 0}):
        with pytest.raises(ParameterError):
            certify(data.X, data.Y, proxml, **settings)


def made(differences):
    """A certificate with these differences."""
    n = len(differences)
    ours = 10.0 * np.arange(1, n + 1)
    theirs = ours / (1 + np.array(differences))
    table = pl.DataFrame(
        {
            "label": [f"l{j}" for j in range(n)],
            "positives": np.arange(1, n + 1),
            "objective": ours,
            "liblinear": theirs,
            "difference": np.array(differences),
            "violation": np.full(n, 1e-3),
            "liblinear_violation": np.full(n, 0.5),
            "liblinear_sweeps": np.full(n, 1000),
            "liblinear_seconds": np.full(n, 0.25),
        }
    )
    return Certificate(table, 0.5, 0.01, 1000, 100, 0)


def test_counts_at_the_border():
    found = made([-0.5, -2e-4, -0.5e-4, 0.5e-4, 2e-4])
    assert (found.better, found.equal, found.worse) == (2, 2, 1)
    assert found.shares == {"better": 0.4, "equal": 0.4, "worse": 0.2}
    assert str(found).splitlines() == [
        "5 labels at strength 0.5, against liblinear -s 5 with eps 0.01 and at most 1000 sweeps",
        "  better       2   40.0 %   lower by up to 5.0e-01",
        "  equal        2   40.0 %   within 0.0001",
        "  worse        1   20.0 %   higher by up to 2.0e-04",
        "  optimality violated by, relative to the strength:",
        "    model      median 1.0e-03, largest 1.0e-03",
        "    liblinear  median 5.0e-01, largest 5.0e-01",
        "  liblinear took 1.2 s and ended 5 labels at its limit on sweeps",
    ]


def test_the_plot_shows_every_label_once(tmp_path):
    found = made([-0.5, -2e-4, 0.0, 0.5e-4, 2e-4])
    left, right = report.certificate_figure(found, title="five $ labels").axes
    points = np.vstack([part.get_offsets() for part in left.collections])
    expected = np.column_stack([found.table["liblinear"], found.table["objective"]])
    assert np.array_equal(points[np.argsort(points[:, 1])], expected)
    assert left.get_xscale() == left.get_yscale() == "log"
    texts = [text.get_text() for text in left.get_legend().get_texts()]
    assert texts == ["equal: 2 (40 %)", "better: 2 (40 %)", "worse: 1 (20 %)"]
    shown = np.vstack([part.get_offsets() for part in right.collections])
    assert sorted(shown[:, 1]) == sorted(found.table["difference"])
    low, high = right.get_ylim()
    assert low < -0.5
    assert high > 2e-4
    for ax in (left, right):
        assert ax.get_xlabel()
        assert ax.get_ylabel()
        assert ax.get_title()


def test_the_plot_goes_to_a_file_or_to_axes(tmp_path):
    from matplotlib.figure import Figure

    found = made([-0.1, 0.0])
    report.plot_certificate(found, tmp_path / "figure2.png", title="both")
    assert (tmp_path / "figure2.png").read_bytes().startswith(b"\x89PNG")
    ax = Figure().subplots()
    report.plot_certificate(found, ax, title="mine")
    assert ax.get_title() == "mine"
    assert len(ax.collections) == 3
    with pytest.raises(ParameterError, match="png, svg"):
        report.plot_certificate(found, tmp_path / "figure2.doc")
    report.plot_certificate(made([]), tmp_path / "none.svg")


@pytest.mark.exhaustive
@pytest.mark.published
def test_proxml_is_not_above_liblinear_on_bibtex(data_folder):
    """A sample of the labels; the whole set is a matter of `make bench-proxml`."""
    train = read_dataset(data_folder / "bibtex", part="train")
    names = train.classes.tolist()[::20]
    Y = sp.csr_array(train.Y)[:, ::20]
    model = ProXML(n_jobs=2).fit(train.X, Y, label_names=names)
    found = certify(train.X, Y, model, n_jobs=2)
    assert found.worse == 0
    assert found.table["violation"].max() <= 0.01 + 1e-4
