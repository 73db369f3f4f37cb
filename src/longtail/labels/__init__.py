"""What the labels look like: encoding, counts and tail, propensities, graph and clusters."""

from longtail.labels.clusters import LabelClusters, cluster_labels, unrecoverable_loss
from longtail.labels.encoding import (
    EncodedLabels,
    Kind,
    decode_labels,
    encode_labels,
)
from longtail.labels.graph import (
    Components,
    algebraic_connectivity,
    connected_components,
    cooccurrence_graph,
    hubs,
    label_degrees,
)
from longtail.labels.matching import as_predicted, encode_like, in_columns_of
from longtail.labels.names import (
    LONGEST_NAME,
    LabelSets,
    columns_of,
    columns_without,
    distinct_names,
    listed,
    matrix_to_names,
    name_array,
    names_to_matrix,
    padded_size,
    place_columns,
)
from longtail.labels.points import LabelledPoints
from longtail.labels.propensity import (
    DEFAULT_CONSTANTS,
    PROPENSITY_CONSTANTS,
    inverse_propensities,
    propensities,
    propensity_constants,
)
from longtail.labels.ranking import (
    TailRanking,
    check_tail,
    is_calibration,
    rarity,
    tail_ranking,
)
from longtail.labels.sets import distinct_sets
from longtail.labels.tail import (
    PowerLaw,
    TailStatistics,
    fit_power_law,
    label_counts,
    tail_statistics,
)

__all__ = [
    "DEFAULT_CONSTANTS",
    "LONGEST_NAME",
    "PROPENSITY_CONSTANTS",
    "Components",
    "EncodedLabels",
    "Kind",
    "LabelClusters",
    "LabelSets",
    "LabelledPoints",
    "PowerLaw",
    "TailRanking",
    "TailStatistics",
    "algebraic_connectivity",
    "as_predicted",
    "check_tail",
    "cluster_labels",
    "columns_of",
    "columns_without",
    "connected_components",
    "cooccurrence_graph",
    "decode_labels",
    "distinct_names",
    "distinct_sets",
    "encode_labels",
    "encode_like",
    "fit_power_law",
    "hubs",
    "in_columns_of",
    "inverse_propensities",
    "is_calibration",
    "label_counts",
    "label_degrees",
    "listed",
    "matrix_to_names",
    "name_array",
    "names_to_matrix",
    "padded_size",
    "place_columns",
    "propensities",
    "propensity_constants",
    "rarity",
    "tail_ranking",
    "tail_statistics",
    "unrecoverable_loss",
]
