"""XMC text and svmlight in every dialect that the formats have, by hand-written examples."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from longtail.data import (
    Dataset,
    read_dataset,
    read_filter_pairs,
    read_split,
    read_svmlight,
    read_xmc,
    read_xmc_matrix,
    read_xmc_pair,
    save,
)
from longtail.errors import DataError, DataWarning, ParameterError
from tests.data.readers_common import assert_same, small_set, written

XMC = "3 3 4\n0,2 0:0.5 2:1\n 1:-2.25\n1\n"
SVM = XMC.split("\n", 1)[1]


# --- XMC text, old layout ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        XMC,
        XMC.rstrip("\n"),
        XMC.replace("\n", "\r\n"),
        "\ufeff" + XMC,
        "# a remark\n\n" + XMC.replace("\n1\n", "\n   \n1\n\n# end"),
        XMC.replace("0,2 0:0.5 2:1", "2,0 2:1 0:0.5"),
        XMC.replace("0,2 0:0.5 2:1", "2, 0\t2:1.0   0:+5e-1   "),
        XMC.replace(" 1:-2.25", "1:-2.25"),
        XMC.replace(" 1:-2.25", " 0:0 1:-2.250000"),
        XMC.replace(" 1:-2.25", " 1:-2.25 # a remark 7:x"),
    ],
)
def test_xmc_dialects_read_alike(tmp_path: Path, content: str) -> None:
    assert_same(read_xmc(written(tmp_path / "a.txt", content)), small_set())


@pytest.mark.parametrize("suffix", [".txt", ".txt.gz", ".gz"])
def test_gzip_is_told_by_content(tmp_path: Path, suffix: str) -> None:
    packed = gzip.compress(XMC[:9].encode()) + gzip.compress(XMC[9:].encode())
    assert_same(read_xmc(written(tmp_path / f"a{suffix}", packed)), small_set())


def test_xmc_blocks_meet_in_the_middle_of_lines(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    n, width = 3000, 400
    columns = np.sort(rng.permuted(np.tile(np.arange(width), (n, 1)), axis=1)[:, :60], axis=1)
    values = rng.normal(size=columns.shape).astype(np.float32)
    rows = (
        ",".join(map(str, sorted({i % 7, i % 11})))
        + " "
        + " ".join(
            f"{c}:{v!r}" for c, v in zip(columns[i].tolist(), values[i].tolist(), strict=True)
        )
        for i in range(n)
    )
    data = read_xmc(written(tmp_path / "a.txt", f"{n} {width} 11\n" + "\n".join(rows)))
    assert (tmp_path / "a.txt").stat().st_size > 3 * 2**20, "several blocks are needed"
    np.testing.assert_array_equal(data.X.indices.reshape(n, -1), columns)
    np.testing.assert_array_equal(data.X.data.reshape(n, -1), values)
    assert data.label_sets()[20] == (6, 9)


def test_xmc_long_line_just_below_the_limit(tmp_path: Path) -> None:
    n = 2**17
    line = " ".join(f"{i}:1" for i in range(n))
    file = written(tmp_path / "a.txt", f"2 {n} 1\n0 {line}\n0 0:2\n")
    assert read_xmc(file, max_line_bytes=len(line) + 2).X.nnz == n + 1
    with pytest.raises(DataError, match="line 2: the line is longer"):
        read_xmc(file, max_line_bytes=len(line) + 1)


@pytest.mark.parametrize(
    ("header", "words", "shape"),
    [
        ("9 3 4", "says 9 points, but the file holds 3; is the file cut off", (3, 3, 4)),
        ("1 3 4", "says 1 points, but the file holds 3", (3, 3, 4)),
        ("3 2 4", "says 2 features, but ids go up to 2; taking 3", (3, 3, 4)),
        ("3 3 1", "says 1 labels, but ids go up to 2; taking 3", (3, 3, 3)),
    ],
)
def test_xmc_header_that_disagrees(tmp_path: Path, header: str, words: str, shape: tuple) -> None:
    file = written(tmp_path / "a.txt", XMC.replace("3 3 4", header))
    with pytest.warns(DataWarning, match=words):
        data = read_xmc(file)
    assert (len(data), data.n_features, data.n_labels) == shape


def test_xmc_header_may_claim_more_columns(tmp_path: Path) -> None:
    data = read_xmc(written(tmp_path / "a.txt", XMC.replace("3 3 4", "3 2147483647 2147483647")))
    assert data.n_features == data.n_labels == 2**31 - 1


def test_xmc_missing_values(tmp_path: Path) -> None:
    file = written(tmp_path / "a.txt", "2 4 2\n0 1 3:2\n 2\n")
    with pytest.raises(DataError, match=r"line 2: the feature 1 has no value.*missing_value=1"):
        read_xmc(file)
    data = read_xmc(file, missing_value=1)
    np.testing.assert_array_equal(data.X.toarray(), [[0, 1, 0, 2], [0, 0, 1, 0]])
    assert data.label_sets() == [(0,), ()]


def test_xmc_duplicates_merged_on_request(tmp_path: Path) -> None:
    file = written(tmp_path / "a.txt", "1 4 4\n3,1,3 2:1 0:1 2:0.5\n")
    data = read_xmc(file, duplicates="merge")
    assert data.label_sets() == [(1, 3)]
    assert data.Y.data.tolist() == [1, 1]
    np.testing.assert_array_equal(data.X.toarray(), [[1, 0, 1.5, 0]])


def test_xmc_types(tmp_path: Path) -> None:
    file = written(tmp_path / "a.txt", "1 3 1\n0 0:0.1 1:1e300 2:4.9e-324\n")
    with pytest.raises(DataError, match=r"line 2: the value '1e300' is too large.*float64"):
        read_xmc(file)
    data = read_xmc(file, dtype=np.float64)
    assert data.X.data.tolist() == [0.1, 1e300, 4.9e-324]
    edge = written(tmp_path / "b.txt", "1 3 1\n0 0:3.4028235677973362e38 1:1e-60\n")
    assert read_xmc(edge).X.data.tolist() == [np.finfo(np.float32).max]


def test_xmc_names_beside(tmp_path: Path) -> None:
    written(tmp_path / "label_names.txt", "sea\nsun\nwind and rain\nÄther\n")
    (tmp_path / "feature_names.txt.gz").write_bytes(gzip.compress(b"x\r\ny\r\n\r\n\n\n"))
    data = read_xmc(written(tmp_path / "a.txt", XMC))
    assert data.label_names.tolist() == ["sea", "sun", "wind and rain", "Äther"]
    assert data.feature_names.tolist() == ["x", "y", ""]


def test_xmc_more_names_than_columns_widen(tmp_path: Path) -> None:
    written(tmp_path / "label_names.txt", "a\nb\nc\nd\ne\n")
    with pytest.warns(DataWarning, match="should be 4 labels, but label_names.txt names 5"):
        data = read_xmc(written(tmp_path / "a.txt", XMC))
    assert data.n_labels == 5


def test_options_are_checked(tmp_path: Path) -> None:
    file = written(tmp_path / "a.txt", XMC)
    for options in (
        {"duplicates": "sum"},
        {"missing_value": "zero"},
        {"missing_value": np.nan},
        {"dtype": "int32"},
        {"dtype": "no type"},
        {"max_line_bytes": 10},
    ):
        with pytest.raises(ParameterError, match=next(iter(options))):
            read_xmc(file, **options)


def test_split_files(tmp_path: Path) -> None:
    save(small_set(), tmp_path / "Tiny_data.txt")
    written(tmp_path / "tiny_trSplit.txt", "1 3\n2 1\n")
    written(tmp_path / "tiny_tstSplit.txt", "3 2\n")
    assert read_split(tmp_path / "tiny_trSplit.txt").tolist() == [[0, 2], [1, 0]]
    whole = small_set()
    for place in (tmp_path, tmp_path / "Tiny_data.txt"):
        assert_same(read_dataset(place, part="train"), whole.subset([0, 1]))
        assert_same(read_dataset(place, part="test", split=1), whole.subset([1]))
        assert_same(read_dataset(place, part="all"), whole)
    assert read_dataset(tmp_path).name == "Tiny"
    with pytest.raises(ParameterError, match="split must be from 0 to 1"):
        read_dataset(tmp_path, split=2)


# --- XMC text, new layout ----------------------------------------------------------------------


def test_xmc_pair(tmp_path: Path) -> None:
    written(tmp_path / "trn_X_Xf.txt", "3 3\n0:0.5 2:1\n1:-2.25\n\n")
    labels = written(tmp_path / "trn_X_Y.txt", "3 4\n0:1 2:1.0\n\n1:1\n")
    written(tmp_path / "Xf.txt", "x\ny\nz\n")
    written(tmp_path / "Y.txt", "a\nb\nc\nd\n")
    wanted = small_set(feature_names=["x", "y", "z"], label_names=["a", "b", "c", "d"])
    for file in (tmp_path / "trn_X_Xf.txt", labels, tmp_path):
        assert_same(read_dataset(file), wanted)
    assert read_dataset(tmp_path).name == tmp_path.name


def test_xmc_pair_blank_lines_at_the_end_are_no_points(tmp_path: Path) -> None:
    file = written(tmp_path / "trn_X_Xf.txt", "2 3\n0:0.5\n\n\n\n")
    written(tmp_path / "trn_X_Y.txt", "2 4\n\n\n")
    assert len(read_xmc_pair(file)) == 2


def test_label_features_and_filter_pairs(tmp_path: Path) -> None:
    file = written(tmp_path / "lbl_X_Xf.txt", "2 3\n2:1\n\n")
    np.testing.assert_array_equal(read_xmc_matrix(file).toarray(), [[0, 0, 1], [0, 0, 0]])
    pairs = written(tmp_path / "filter_labels_test.txt", "0 5\n\n7 1\r\n")
    assert read_filter_pairs(pairs).tolist() == [[0, 5], [7, 1]]
    assert read_filter_pairs(written(tmp_path / "none.txt", "")).shape == (0, 2)


# --- svmlight ----------------------------------------------------------------------------------


def test_svmlight(tmp_path: Path) -> None:
    file = written(tmp_path / "a.svm", SVM)
    assert_same(read_svmlight(file, n_labels=4), small_set())
    assert read_svmlight(file).n_labels == 3
    written(tmp_path / "label_names.txt", "a\nb\nc\nd\n")
    assert read_svmlight(file).n_labels == 4


def test_svmlight_as_scikit_learn_writes_and_reads_it(tmp_path: Path) -> None:
    X = np.array([[0, 0.5, 0, 1], [0, 0, -2, 0], [0, 3, 0, 0]])
    Y = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 1]])
    for zero_based in (True, False):
        file = tmp_path / f"{zero_based}.svm"
        dump_svmlight_file(
            X, Y, str(file), multilabel=True, zero_based=zero_based, comment="by hand"
        )
        data = read_svmlight(file, dtype=np.float64)
        np.testing.assert_array_equal(data.X.toarray(), X)
        np.testing.assert_array_equal(data.Y.toarray(), Y)
    file = tmp_path / "ours.svm"
    save(Dataset(X, Y), file)
    theirs, labels = load_svmlight_file(str(file), multilabel=True, zero_based=True)
    np.testing.assert_array_equal(theirs.toarray(), X)
    assert [tuple(map(int, row)) for row in labels] == Dataset(X, Y).label_sets()


def test_svmlight_ids_from_one(tmp_path: Path) -> None:
    file = written(tmp_path / "a.svm", "0 1:5 3:2\n")
    assert read_svmlight(file).X.toarray().tolist() == [[0, 5, 0, 2]]
    assert read_svmlight(file, zero_based=False).X.toarray().tolist() == [[5, 0, 2]]
    with pytest.raises(DataError, match="id 0, but ids start at 1"):
        read_svmlight(written(tmp_path / "b.svm", "0 0:5\n"), zero_based=False)


def test_svmlight_sizes_that_do_not_fit(tmp_path: Path) -> None:
    file = written(tmp_path / "a.svm", SVM)
    with pytest.raises(DataError, match="ids of features go up to 2, but n_features=2"):
        read_svmlight(file, n_features=2)
    with pytest.raises(ParameterError, match="n_labels must be"):
        read_svmlight(file, n_labels=2**31)
