# SPDX-License-Identifier: Apache-2.0
"""Private classifiers as estimators of scikit-learn: they are what ``noisewright.learn`` makes.

What is public about the records has to be said: bounds of numbers, categories, and classes. The model, and all that is
predicted by it, is (epsilon, delta)-private for the records that fit was called with; each call of fit costs that
again. A search over parameters calls fit many times: give it a ledger, or public data.

Two things are NOT covered. Earlier steps of a Pipeline that learn from the records, such as scalers, imputers and
encoders, publish what they learn: scale by public bounds. And scores, as of cross_val_score, are exact: they are not
private for the records that were held out.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from noisewright._words import Floats
from noisewright.errors import InvalidError
from noisewright.learning import Schema, learn

_PUBLIC = "give them, or say public_data=True where the records are public"


class _Private(ClassifierMixin, BaseEstimator):
    """Its parameters are those of __init__, as scikit-learn has it."""

    def __init__(
        self,
        epsilon: Any = 1.0,
        delta: Any = 1e-6,
        *,
        bounds: Any = None,
        categories: Mapping[Any, Sequence[Hashable]] | None = None,
        classes: Sequence[Hashable] | None = None,
        ledger: Any = None,
        new_data: bool = False,
        neighbors: str = "add-remove",
        noise: str = "auto",
        public_data: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.categories = categories
        self.classes = classes
        self.ledger = ledger
        self.new_data = new_data
        self.neighbors = neighbors
        self.noise = noise
        self.public_data = public_data

    _kind: Any = "nb"
    _own: tuple[str, ...] = ()  # parameters of the kind alone

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.classifier_tags.poor_score = True  # of few records
        return tags

    def fit(self, X: Any, y: Any) -> Any:
        """Learns the model, and charges the ledger if there is one."""
        X, y = validate_data(self, X, y, dtype=None)
        check_classification_targets(y)
        self._check_target(y)
        if self.classes is None and not self.public_data:
            raise InvalidError(f"classes = None, want the classes that there may be: {_PUBLIC}")
        self.classes_ = np.unique(np.asarray(y if self.classes is None else self.classes))
        if len(self.classes_) < 2:
            raise InvalidError(f"y has {len(self.classes_)} class, want two classes at least")
        names = self._names()
        target = "class"
        while target in names:
            target += "_"
        columns = {name: X[:, j] for j, name in enumerate(names)}
        features = {name: self._known(j, name, columns[name]) for j, name in enumerate(names)}
        schema = Schema(target, self.classes_.tolist(), features)
        same = ("epsilon", "delta", "ledger", "new_data", "neighbors", "noise", *self._own)
        given = {name: getattr(self, name) for name in same}
        self.model_ = learn({**columns, target: y}, schema, self._kind, **given)
        return self

    def _check_target(self, y: Any) -> None: ...

    def _names(self) -> list[str]:
        given = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if given is None else list(map(str, given))

    def _known(self, j: int, name: str, column: Any) -> Any:
        """What is public about a feature."""
        for key in (name, j):
            if self.categories is not None and key in self.categories:
                return list(self.categories[key])
        bounds = self.bounds
        if isinstance(bounds, Mapping):
            bounds = bounds.get(name, bounds.get(j))
        elif bounds is not None and np.ndim(bounds) == 2:
            if len(bounds) != self.n_features_in_:
                raise InvalidError(f"bounds = {len(bounds)} pairs, want one for each of {self.n_features_in_} features")
            bounds = bounds[j]
        if bounds is not None:
            lower, upper = bounds
            return lower, upper
        if not self.public_data:
            raise InvalidError(f"bounds of {name!r} = None, want bounds or categories: {_PUBLIC}")
        if column.dtype.kind in "OUS":
            return np.unique(column.astype(str)).tolist()
        lower, upper = float(column.min()), float(column.max())
        return (lower, upper) if lower < upper else (lower - 1, upper + 1)

    def _records(self, X: Any) -> Mapping[str, Any]:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=None, reset=False)
        return {name: X[:, j] for j, name in enumerate(self._names())}

    def predict(self, X: Any) -> Any:
        """The classes of records, by the model alone."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> Floats:
        """The probabilities of the classes, by the model alone."""
        records = self._records(X)
        return self.model_.predict_proba(records)


class NoisewrightNB(_Private):
    """Naive Bayes: frequencies of classes and of the categories in a class, mean and variance of numbers.

    bounds is a pair of numbers for all features, a list of pairs, or a dict by name or place; categories is a dict by
    name or place of those features that are no numbers; classes are all that there may be. With public_data=True what
    is not given is read off the records: NOT PRIVATE for them. Other parameters are those of noisewright.learn.
    """


class NoisewrightLogistic(_Private):
    """Logistic regression of two classes, by proximal coordinate descent. Parameters are as for NoisewrightNB; rounds,
    step_size and penalty are those of noisewright.learn."""

    _kind = "pcd"
    _own = ("rounds", "step_size", "penalty")

    def __init__(
        self,
        epsilon: Any = 1.0,
        delta: Any = 1e-6,
        *,
        bounds: Any = None,
        categories: Mapping[Any, Sequence[Hashable]] | None = None,
        classes: Sequence[Hashable] | None = None,
        ledger: Any = None,
        new_data: bool = False,
        neighbors: str = "add-remove",
        noise: str = "auto",
        public_data: bool = False,
        rounds: int = 100,
        step_size: float = 4.0,
        penalty: float = 1e-8,
    ) -> None:
        super().__init__(
            epsilon,
            delta,
            bounds=bounds,
            categories=categories,
            classes=classes,
            ledger=ledger,
            new_data=new_data,
            neighbors=neighbors,
            noise=noise,
            public_data=public_data,
        )
        self.rounds = rounds
        self.step_size = step_size
        self.penalty = penalty

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _check_target(self, y: Any) -> None:
        from sklearn.utils.multiclass import type_of_target

        kind = type_of_target(y, input_name="y")
        if kind != "binary":
            raise InvalidError(f"Only binary classification is supported. The type of the target is {kind}.")
