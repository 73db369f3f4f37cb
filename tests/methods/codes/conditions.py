"""The paper's two conditions on a code, looked up pair by pair of labels."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def shared_bits(code, of_label):
    """Bits that two labels share at most: within a cluster, and between clusters."""
    common = sp.coo_array(sp.csr_array(code.astype(np.int64) @ code.T.astype(np.int64)))
    first, second = common.row, common.col
    two = first != second
    same = of_label[first] == of_label[second]
    within, between = common.data[two & same], common.data[two & ~same]
    return int(within.max(initial=0)), int(between.max(initial=0))
