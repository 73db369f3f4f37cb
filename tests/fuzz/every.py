"""All kinds of hostile input by name."""

from tests.fuzz.arrays import ARRAYS
from tests.fuzz.folders import FOLDERS
from tests.fuzz.parquet import PARQUET
from tests.fuzz.readers import READERS
from tests.fuzz.trees import TREES

KINDS = {kind.name: kind for kind in (READERS, PARQUET, FOLDERS, ARRAYS, TREES)}
