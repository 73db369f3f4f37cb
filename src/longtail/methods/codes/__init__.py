"""Reductions that predict a short code of the label set and decode labels from it."""

from longtail.methods.codes.bound import error_bound
from longtail.methods.codes.code import encode, hashed_code, random_code, robust_code
from longtail.methods.codes.compressed_sensing import CompressedSensing
from longtail.methods.codes.decoding import Taking, decode_filter, decode_robust, identify_clusters
from longtail.methods.codes.hubs_and_clusters import (
    ChosenClusters,
    choose_clusters,
    code_size_curve,
    lower_envelope,
)
from longtail.methods.codes.plst import PLST
from longtail.methods.codes.robust_bloom import RobustBloom
from longtail.methods.codes.standard_bloom import StandardBloom

__all__ = [
    "PLST",
    "ChosenClusters",
    "CompressedSensing",
    "RobustBloom",
    "StandardBloom",
    "Taking",
    "choose_clusters",
    "code_size_curve",
    "decode_filter",
    "decode_robust",
    "encode",
    "error_bound",
    "hashed_code",
    "identify_clusters",
    "lower_envelope",
    "random_code",
    "robust_code",
]
