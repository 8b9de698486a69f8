"""Adapters that give subjects of other shapes the methods that the instruments take, ``fit`` and ``predict``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpnb.arrays import Floats
from dpnb.domain import Domain

Mechanism = Callable[[Any, np.random.Generator], ArrayLike]
MOST_SEED = 2**31 - 1  # largest number that all programs take for a seed


@dataclass
class Adapted:
    """An estimator whose methods have other names, or that takes other data; made by :func:`adapted`."""

    factory: Callable[..., Any]
    domain: Domain | None = None
    arrays: bool = False
    encoded: bool = False
    fit_name: str = "fit"
    predict_name: str = "predict"
    proba_name: str | None = "predict_proba"
    seed_name: str | None = None
    random_state: int | None = None
    model_: Any = field(default=None, repr=False)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters that the auditor sets."""
        return {"random_state": self.random_state, "domain": self.domain}

    def set_params(self, **parameters: Any) -> Adapted:
        """Set the seed or the domain."""
        for name, value in parameters.items():
            if name not in self.get_params():
                raise ValueError(f"no parameter {name!r}: expected random_state or domain")
            setattr(self, name, value)
        return self

    def fit(self, X: Any, y: Any) -> Adapted:
        """Fit the estimator on the data in the form that it takes."""
        seed = None if self.random_state is None else self.random_state % MOST_SEED
        model = self.factory(**({} if self.seed_name is None else {self.seed_name: seed}))
        labels = self._domain.replaced_labels(y) if self.encoded else np.asarray(y) if self.arrays else y
        fitted = getattr(model, self.fit_name)(self._records(X), labels)
        self.model_ = model if fitted is None else fitted
        if self.proba_name is not None and hasattr(self.model_, self.proba_name):
            self.predict_proba = self._probabilities
        known = getattr(self.model_, "classes_", None)
        if known is not None:
            self.classes_ = self._decoded(known) if self.encoded else known
        return self

    def predict(self, X: Any) -> Any:
        """Labels, in the words of the data."""
        labels = getattr(self.model_, self.predict_name)(self._records(X))
        return self._decoded(labels) if self.encoded else labels

    def _probabilities(self, X: Any) -> Any:
        return getattr(self.model_, str(self.proba_name))(self._records(X))

    @property
    def _domain(self) -> Domain:
        if self.domain is None:
            raise ValueError("encoded=True needs the public domain: give domain=")
        return self.domain

    def _records(self, X: Any) -> Any:
        if self.encoded:
            return self._domain.replaced(X)
        return np.asarray(X) if self.arrays else X

    def _decoded(self, codes: Any) -> list[Any]:
        """Labels by their codes; values that are no codes stay as they are, for the auditor to see."""
        classes = self._domain.classes
        flat = np.asarray(codes).ravel().tolist()
        return [classes[int(c)] if c in range(len(classes)) else c for c in flat]


def adapted(
    factory: Callable[..., Any],
    *,
    arrays: bool = False,
    encoded: bool = False,
    domain: Domain | None = None,
    fit: str = "fit",
    predict: str = "predict",
    predict_proba: str | None = "predict_proba",
    seed: str | None = None,
) -> Callable[[], Adapted]:
    """A factory for all instruments from an estimator that is not scikit-learn-like.

    Parameters
    ----------
    factory : returns an unfitted estimator.
    arrays : whether it takes NumPy arrays.
    encoded : whether it takes whole numbers for categories and classes, which are their codes in the public domain.
        Values outside the domain are moved into it.
    domain : the public domain; by default that of the auditor's data.
    fit, predict, predict_proba : names of its methods, which are called with positional arguments. ``fit`` may return
        the model. With ``predict_proba=None`` the auditor asks only for labels.
    seed : name of the factory's parameter for a seed, if it has one.

    Examples
    --------
    >>> class Learner:
    ...     def __init__(self, seed):
    ...         self.seed = seed
    ...     def train(self, table, labels):
    ...         return self
    ...     def answer(self, table):
    ...         return [0] * len(table)
    >>> factory = adapted(Learner, fit="train", predict="answer", arrays=True, seed="seed")
    >>> factory().fit([[0.5]], [1]).predict([[0.1], [0.2]])
    [0, 0]
    """
    return partial(
        Adapted, factory, domain=domain, arrays=arrays, encoded=encoded,
        fit_name=fit, predict_name=predict, proba_name=predict_proba, seed_name=seed,
    )  # fmt: skip


@dataclass(frozen=True)
class OnDomain:
    """A factory whose estimators know the public domain of the auditor's data."""

    factory: Callable[[], Any]
    domain: Domain

    def __call__(self) -> Any:
        """Return an unfitted estimator."""
        model = self.factory()
        lacks = hasattr(model, "get_params") and model.get_params(deep=False).get("domain", model) is None
        return model.set_params(domain=self.domain) if lacks else model


@dataclass
class MechanismEstimator:
    """A mechanism as an estimator; ``fit`` runs it, ``released_`` holds its output, and predictions say nothing."""

    mechanism: Mechanism
    random_state: int | None = None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The seed."""
        return {"random_state": self.random_state}

    def set_params(self, *, random_state: int | None) -> MechanismEstimator:
        """Set the seed."""
        self.random_state = random_state
        return self

    def fit(self, X: Any, y: Any = None, people: Any = None) -> MechanismEstimator:
        """Run the mechanism on (X, y), on X where there are no labels, or on (X, y, people) where people are named."""
        data = X if y is None else (X, y) if people is None else (X, y, people)
        released = self.mechanism(data, np.random.default_rng(self.random_state))
        self.released_: Floats = np.asarray(released, float).ravel()
        return self

    def predict(self, X: Any) -> Floats:
        """Zeros, the same for everybody."""
        return np.zeros(len(X))


def as_estimator(mechanism: Mechanism) -> Callable[[], MechanismEstimator]:
    """A factory for all instruments from a plain mechanism.

    Parameters
    ----------
    mechanism : function (data, generator) → numbers. The data are those that ``fit`` gets, (X, y) or (X, y, people)
        from the auditor's pairs, or anything that you give as ``(data,)`` in their place. All its randomness must come
        from the generator.

    Examples
    --------
    >>> import numpy as np
    >>> def count(data, rng):
    ...     return [len(data) + rng.laplace()]
    >>> model = as_estimator(count)().set_params(random_state=1).fit([1, 2, 3])
    >>> model.released_.shape
    (1,)
    """
    return partial(MechanismEstimator, mechanism)


def released(model: Any) -> Floats:
    """The output of a mechanism, as the observation of an attack."""
    numbers: Floats = model.released_
    return numbers
