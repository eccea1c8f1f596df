# SPDX-License-Identifier: Apache-2.0
"""Private features in a pipeline of scikit-learn.

    make_pipeline(PrivateFeatures([hours, age], [0, 18], [100, 118]), LogisticRegression()).fit(X, y)

Each row is made private by itself, with the sum of the tables' epsilons and deltas, before anything is learned from
it. transform is a release: each call draws again and spends the sum again. Labels are not protected.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array

import noisewright


class PrivateFeatures(TransformerMixin, BaseEstimator):
    """Clips feature j to [lower_j, upper_j], no wider than the sensitivity of its table, and adds noise."""

    def __init__(self, tables: Sequence[noisewright.Table], lower: Sequence[float], upper: Sequence[float]) -> None:
        self.tables = tables
        self.lower = lower
        self.upper = upper

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> PrivateFeatures:
        """Learns nothing: bounds that are learned from the data are not private."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """The private features."""
        features = check_array(X, dtype=np.float64)
        each = zip(self.tables, features.T, self.lower, self.upper, strict=True)
        return np.column_stack([table.privatize(x, lower, upper) for table, x, lower, upper in each])
