"""Mulan ARFF with XML, dense and sparse, by hand-written examples."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from longtail.data import (
    read_mulan,
)
from longtail.errors import DataError
from tests.data.readers_common import written

ARFF = """% a remark
@RELATION 'tiny: a test'

@attribute 'depth in m' numeric
@attribute\tcolour {grey,'light blue',"it\\'s red"}
@Attribute waves {0,1}
@attribute sea {0,1}
@attribute "sun \\"hot\\"" numeric
@DATA
"""
DENSE = "0.5,grey,1,1,0\n% remark\n 1e1 , 'light blue',0,0,1\n0,\"it's red\",0,1,1\n"
SPARSE = "{0 0.5, 2 1,3 1}\n{4 1,0\t1e1,1 'light blue'}\n\n{1 \"it's red\", 3 1,4 1}\n"
LABELS = """<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
  <label name="sea"><label name='sun "hot"'/></label>
</labels>
"""


@pytest.mark.parametrize(
    "rows", [DENSE, SPARSE, SPARSE.split("\n")[0] + DENSE[DENSE.index("\n") :]]
)
def test_mulan(tmp_path: Path, rows: str) -> None:
    file = written(tmp_path / "tiny-train.arff", ARFF + rows)
    written(tmp_path / "tiny.xml", LABELS)
    data = read_mulan(file)
    assert data.feature_names.tolist() == [
        "depth in m",
        "colour=light blue",
        "colour=it's red",
        "waves",
    ]
    assert data.label_names.tolist() == ["sea", 'sun "hot"']
    np.testing.assert_array_equal(data.X.toarray(), [[0.5, 0, 0, 1], [10, 1, 0, 0], [0, 0, 1, 0]])
    np.testing.assert_array_equal(data.Y.toarray(), [[1, 0], [0, 1], [1, 1]])
    assert data.name == "tiny"


@pytest.mark.parametrize("packed", [False, True])
def test_mulan_rows_of_numbers(tmp_path: Path, packed: bool) -> None:
    header = "@relation r\n@attribute a real\n@attribute b {0,1}\n@attribute c integer\n@data\n"
    rows = "-1.5,1,0\n0,0,1\n{}\n{0 2, 2 1}\n{2 1,0 3}\n"
    content = (header + rows).encode()
    file = written(tmp_path / "r.arff", gzip.compress(content) if packed else content)
    data = read_mulan(file, n_labels=-1)
    np.testing.assert_array_equal(data.X.toarray(), [[-1.5, 1], [0, 0], [0, 0], [2, 0], [3, 0]])
    assert data.label_sets() == [(), ("c",), (), ("c",), ("c",)]
    assert data.X.has_canonical_format


def test_mulan_labels_by_number(tmp_path: Path) -> None:
    content = "@relation 'x: -C 1'\n@attribute y {0,1}\n@attribute a real\n@data\n1,0.5\n"
    file = written(tmp_path / "x.arff", content)
    assert read_mulan(file).label_sets() == [("y",)]
    with pytest.raises(DataError, match=r"not 0|expected 0 or 1"):
        read_mulan(file, n_labels=-1)
    plain = written(tmp_path / "y.arff", content.replace(": -C 1", ""))
    with pytest.raises(DataError, match=r"expected y\.xml beside"):
        read_mulan(plain)
    assert read_mulan(plain, n_labels=1).feature_names.tolist() == ["a"]


def test_mulan_missing_values(tmp_path: Path) -> None:
    content = "@relation x\n@attribute y {0,1}\n@attribute a real\n@data\n1,?\n{1 ?}\n"
    file = written(tmp_path / "x.arff", content)
    with pytest.raises(DataError, match="line 5: the value of 'a' is missing; pass missing_value"):
        read_mulan(file, n_labels=1)
    data = read_mulan(file, n_labels=1, missing_value=7)
    assert data.X.toarray().tolist() == [[7], [7]]
