"""Data sets: reading, writing, splits, generators, a built-in set."""

from longtail.data.api_docs import load_api_docs
from longtail.data.dataset import Dataset, concatenate
from longtail.data.generate import make_longtail
from longtail.data.mixture_data import MIXTURE_COLUMNS, MixtureData, make_mixture
from longtail.data.mulan import read_mulan, write_mulan
from longtail.data.reading import read_dataset, save
from longtail.data.recognise import recognise
from longtail.data.split import train_test_split
from longtail.data.svmlight import read_svmlight, write_svmlight
from longtail.data.tables import (
    read_csv,
    read_jsonl,
    read_parquet,
    write_csv,
    write_jsonl,
    write_parquet,
)
from longtail.data.xmc import read_split, read_xmc, write_xmc
from longtail.data.xmc_pair import (
    read_filter_pairs,
    read_xmc_matrix,
    read_xmc_pair,
    write_xmc_pair,
)

__all__ = [
    "MIXTURE_COLUMNS",
    "Dataset",
    "MixtureData",
    "concatenate",
    "load_api_docs",
    "make_longtail",
    "make_mixture",
    "read_csv",
    "read_dataset",
    "read_filter_pairs",
    "read_jsonl",
    "read_mulan",
    "read_parquet",
    "read_split",
    "read_svmlight",
    "read_xmc",
    "read_xmc_matrix",
    "read_xmc_pair",
    "recognise",
    "save",
    "train_test_split",
    "write_csv",
    "write_jsonl",
    "write_mulan",
    "write_parquet",
    "write_svmlight",
    "write_xmc",
    "write_xmc_pair",
]
