"""The parts that the estimators of all papers share: opening the doors, predicting by vote, checking parameters."""

from __future__ import annotations

import inspect
import math
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, _clone_parametrized
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ..arrays import Floats
from ..checks import (
    check_choice,
    check_count,
    check_epsilon,
    check_kinds,
    check_no_weights,
    check_path,
    check_seed,
)
from ..domain import Continuous, Domain, as_frame, as_series
from ..domain.domain import without_domain
from ..domain.encoding import distinct, spelt_number
from ..domain.frames import columns_of, objects, only_column
from ..domain.misfits import joined
from ..domain.people import Unit
from ..errors import DataError, DomainError, PrivacyLeakWarning
from ..files import check_new, write_whole
from ..privacy.accounting import gaussian_rho
from ..privacy.curator import STREAMS, Curator, open_curator, source_of_noise, spawned
from ..privacy.ledger import Cost, Ledger, Neighbours, shown_number, unfinished
from ..records.bags import Bags
from ..records.doors import RecordsDoor
from ..records.memory import Records
from ..trees.growth import TreeBuilder, check_nodes
from ..trees.tree import Tree, leaf_votes
from .documents import (
    ESTIMATORS,
    domain_of,
    find_class,
    later_writer,
    ledger_document,
    parsed,
    plain,
    read_document,
    read_ledger,
    text_of,
    unplain,
)


def check_domain(domain: object) -> None:
    """Raise TypeError unless ``domain`` is a :class:`~dpnb.Domain`."""
    if not isinstance(domain, Domain):
        hint = "see dpnb.Domain"
        if isinstance(domain, str | PathLike):
            hint = f"Domain.from_yaml({str(domain)!r}) reads a domain file"
        elif isinstance(getattr(domain, "domain", None), Domain):
            hint = "pass its attribute domain"
        elif isinstance(domain, Mapping):
            hint = "Domain.from_document({...}) reads what a domain file holds"
        elif isinstance(domain, Sequence):
            hint = "Domain(attributes, classes) makes one of attributes"
        raise TypeError(
            f"domain is of type {type(domain).__name__}: expected a Domain, or None to read it off the records; {hint}"
        )


def _are_codes(y: Any, domain: Domain) -> bool:
    """Whether labels are an array of numbers, of any type, while no class is a number; then they are codes.

    One label that is missing, or is no whole number, makes NumPy take another type of numbers for all of them. The type
    of a table's column does not count, because the reader of the table took it from the records.
    """
    numbers = isinstance(y, np.ndarray) and y.dtype.kind in "biufc"
    return numbers and all(np.isnan(spelt_number(label)) for label in domain.classes)


def _has_events(ledger: Ledger) -> bool:
    return any(True for _ in ledger.root.events())


def _for_codes(domain: Domain) -> Domain:
    """The domain in which every class is its place among the sorted classes."""
    return replace(domain, classes=tuple(range(domain.n_classes)))


@dataclass(kw_only=True, eq=False, repr=False)
class _Strictness:
    strict: bool = False


class PrivateEstimator(_Strictness, BaseEstimator):  # type: ignore[misc]
    """Base of all estimators, with parameters ``epsilon``, ``delta``, ``domain``, ``neighbours``, ``random_state``.

    An estimator is a dataclass of its parameters, and its method :meth:`_fit` says how it learns.

    Parameters
    ----------
    epsilon : total budget ε > 0; ``inf`` releases everything exactly.
    domain : public domain; if None, it is read off the records, with a warning and an infinite ε on the ledger.
    neighbours : ``"add-remove"`` or ``"replace"``; the latter halves a pure budget.
    random_state : seed, Generator or None. All that is drawn follows from it, so keep it secret.
    strict : whether ``fit`` and ``predict`` raise an error for records that do not fit the domain. Such an error
        reveals something about the records to everyone who sees it, and no budget pays for that. By default, with a
        domain given, misfits are moved into the domain (``Domain.replaced``), and an error depends on parameters and
        columns alone. ``Domain.check`` says before a fit what would be moved, and ``predict`` warns.

    Attributes
    ----------
    ledger_ : :class:`~dpnb.privacy.ledger.Ledger` with the claimed and the true ε.
    domain_, n_features_in_ : as usual.
    unfinished_ : ledgers of fits of this estimator that raised an error after they had released something; each counts
        by what :meth:`worst_cost` states.

    Notes
    -----
    A fit that raises an error leaves the estimator as it was. A fitted model goes with the parameters of its fit: once
    they are changed, it neither predicts nor is released until they are set back, or until the next fit.

    The noise follows from ``random_state``, so an estimator is shown without it, and a fitted estimator is saved
    without it. A whole number repeats the noise in every fit and every copy, as it is meant to. A Generator goes on
    from fit to fit, a clone gets one that it spawns, and other copies, such as pickles and those in forked processes,
    draw from the operating system, so that no two draw the same noise.
    """

    _choices: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # parameter -> values that it may have
    _least: ClassVar[Mapping[str, int]] = {}  # parameter -> least number; None passes where it is the default
    _beyond: ClassVar[
        Mapping[str, tuple[Any, ...]]
    ] = {}  # parameter -> values that may cost more than epsilon

    # Parameter -> values whose proofs hold for people, who share a vote among their records; None if nothing is proved.
    _people: ClassVar[Mapping[str, tuple[Any, ...]] | None] = None
    discrete_only: ClassVar[bool] = False  # whether it takes only discrete attributes
    two_classes: ClassVar[bool] = False  # whether it takes only two classes
    _released: ClassVar[tuple[str, ...]] = ()  # attributes of a fitted model from which predictions follow

    epsilon: float
    delta: float | None = None
    domain: Domain | None
    neighbours: Neighbours
    random_state: Any

    _unfinished: tuple[Ledger, ...] = ()
    _used: Mapping[str, Any]

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        # scikit-learn reads the signature at every call: a sixth of the time of a fit on few records.
        names: list[str] = super()._get_param_names()
        return names

    def fit(
        self,
        X: pd.DataFrame | ArrayLike | RecordsDoor,
        y: ArrayLike | pd.Series[Any] | None = None,
        *,
        people: ArrayLike | pd.Series[Any] | None = None,
        **others: Any,
    ) -> Self:
        """Train the model.

        Parameters
        ----------
        X : table (n, attributes) of any library, array (positions are keys), or encoded
            :class:`~dpnb.records.memory.Records` (without ``y``). The index labels of a pandas frame are the record
            keys.
        y : (n,) labels in the domain's classes, or numbers for a regressor. A NumPy array of numbers where no class is
            a number holds codes of the sorted classes, as scikit-learn's meta-estimators pass them on; the model then
            speaks of these.
        people : (n,) whole numbers or texts that say whose each record is, each person by one name and nobody by two.
            A person's records share one vote, and the model protects the person with all of them. Records of nobody
            (None, NaN) have no vote. None if each record stands for itself; then a record is protected.
        others : nothing, or ``sample_weight=None``. If weights had a name of their own, BaggingClassifier would pass
            its draws as weights.

        Raises
        ------
        TypeError For weights, because a weight would multiply what one record may change; all records weigh the same.
        ValueError
            For a parameter out of range, columns that are not those of the domain, a domain that the estimator does not
            take, parameters whose proofs do not hold for ``people``; and, with ``strict`` or without a domain, for
            records that do not fit.
        RuntimeError
            For an estimator whose author forgot to release anything through the curator.

        Notes
        -----
        An error after the first release, whatever its kind, has a note of what it costs, and ``unfinished_`` has a
        ledger of it.

        **Privacy**: as the class says; every release is on ``ledger_``.
        """
        check_no_weights(others)
        self._check_parameters()
        unit: Unit = "record" if people is None else "person"
        if isinstance(X, RecordsDoor):
            unit = X.unit
        if unit == "person":
            self.check_people()
        ledger = Ledger(neighbours=self.neighbours, delta=self.delta, claimed=float(self.epsilon), unit=unit)
        curator = open_curator(rng=source_of_noise(self.random_state), ledger=ledger)
        learner = self._unfitted()
        try:
            learner._train(X, y, people, curator)
        except BaseException as error:
            self._keep_unfinished(ledger, error)
            raise
        self.__dict__ = learner.__dict__  # at once: nobody sees a model that is half another one
        return self

    def _unfitted(self) -> Self:
        """The estimator with its parameters alone, for a fit to work on."""
        twin = object.__new__(type(self))
        twin.__dict__ = {name: value for name, value in vars(self).items() if not name.endswith("_")}
        return twin

    @classmethod
    def proved_for_people(cls) -> dict[str, tuple[Any, ...]]:
        """The parameters on which it depends whether people are protected, and their values that are proved to."""
        proved = dict(cls._people or {})
        for option, beyond in cls._beyond.items():
            proved.setdefault(option, tuple(value for value in cls._choices[option] if value not in beyond))
        return proved

    def check_people(self) -> None:
        """Raise ValueError unless the model protects people who share a vote among their records, as set up."""
        name = type(self).__name__
        if self._people is None:
            raise ValueError(
                f"{name} protects records, and nothing is proved of it for people: fit it without people, or take "
                "PrivateBooster, which protects both"
            )
        for option, values in self.proved_for_people().items():
            if (value := getattr(self, option)) not in values:
                raise ValueError(
                    f"{option}={value!r} is not proved to protect a person with several records, who may change more "
                    f"than a record: set {option}={values[0]!r}, or fit without people"
                )

    def _train(self, X: Any, y: Any, people: Any, curator: Curator) -> None:
        self._read_off = self.domain is None and not isinstance(X, RecordsDoor)
        records = self._open(X, y, people, curator)
        self._check_target(self.domain_)
        self._fit(records, curator)
        if not _has_events(curator.ledger):
            raise RuntimeError(
                f"{type(self).__name__} learnt without its curator, and its ledger would say ε = 0: expected a release "
                "at least; call the curator's mechanisms in _fit, or curator.exact(value, why=...) for what gets no "
                "noise"
            )
        self.ledger_ = curator.ledger
        self._used = self._given()

    def _keep_unfinished(self, ledger: Ledger, error: BaseException) -> None:
        """Keep the ledger of a fit that raised an error, if it had released anything."""
        if not _has_events(ledger):
            return
        scope = unfinished(self)
        scope.children, ledger.root.children = ledger.root.children, [scope]
        self._unfinished = (*self._unfinished, ledger)
        error.add_note(
            f"The fit had begun to release. It counts as ε = {shown_number(ledger.epsilon)}, as if it had come to its "
            "end: unfinished_ of the estimator has the ledger, and a Budget that the fit went through has counted it"
        )

    @property
    def unfinished_(self) -> list[Ledger]:
        """Ledgers of the fits that raised an error after they had released something."""
        return list(self._unfinished)

    def _given(self) -> dict[str, Any]:
        """What a fit goes by: the parameters but for the seed, and attributes of the class that were set here."""
        names, kind = self._get_param_names(), type(self)
        return {
            name: value
            for name, value in vars(self).items()
            if name != "random_state" and not name.startswith("_") and (name in names or hasattr(kind, name))
        }

    def _check_unchanged(self) -> None:
        """Raise NotFittedError before a fit, and ValueError if parameters were changed after it."""
        check_is_fitted(self)
        used, now = self._used, self._given()
        for name in {**used, **now}:
            before, after = (given.get(name, getattr(type(self), name, None)) for given in (used, now))
            if before is not after and before != after:
                what = name if name == "domain" else f"{name}={after!r}"
                was = "" if name == "domain" else f", which used {before!r}"
                raise ValueError(
                    f"{what} was set after the fit{was}: expected a model with the parameters of its fit; fit again, "
                    "set it back, or change a clone"
                )

    def _fit(self, records: RecordsDoor, curator: Curator) -> None:
        """Learn the model from the records, with all releases through the curator."""
        raise NotImplementedError

    def _inferred(self, X: Any, y: Any) -> Domain:
        """A domain that is read off the records."""
        raise NotImplementedError

    def _check_target(self, domain: Domain) -> None:
        """Raise ValueError unless the domain is one that the estimator takes."""
        if self.discrete_only and domain.continuous.any():
            names = ", ".join(a.name for a in domain.attributes if isinstance(a, Continuous))
            raise ValueError(
                f"{type(self).__name__} takes discrete attributes only, and {names} are continuous: fit it on "
                "domain.discretise(10) and domain.discretise_records(X, 10)"
            )

    def _check_parameters(self) -> None:
        """Raise ValueError for a parameter out of range."""
        check_epsilon(self.epsilon)
        check_seed(self.random_state)
        check_kinds(self, but=("epsilon", "delta", "domain"))
        for name, choices in self._choices.items():
            check_choice(name, getattr(self, name), choices)
        check_choice("neighbours", self.neighbours, ("add-remove", "replace"))
        for name, low in self._least.items():
            value = getattr(self, name)
            if value is not None or getattr(type(self), name) is not None:
                check_count(name, value, low=low)
        if self.domain is not None:
            check_domain(self.domain)
            self._check_target(self.domain)

    def _open(self, X: Any, y: Any, people: Any, curator: Curator) -> RecordsDoor:
        """The records of a fit, and what is known of them before it."""
        if isinstance(X, RecordsDoor):
            return self._open_records(X, y, people)
        X = as_frame(X)
        if y is None:
            raise ValueError(
                "the estimator requires y to be passed, but the target y is None: pass a label for each record, or a "
                "number"
            )
        if (column := only_column(y)) is not y:
            what = "A column-vector y was passed when a 1d array was expected: its only column is taken"
            warnings.warn(what, DataConversionWarning, stacklevel=3)
            y = column
        if self.domain is None:
            columns_of(X)
            if not isinstance(y, np.ndarray | pd.DataFrame):
                y = as_series(y).infer_objects()
            y = y if isinstance(y, pd.Series) else column_or_1d(y, warn=True)
            validate_data(self, X, skip_check_array=True)
            why = "no domain given: bounds, categories and classes read off the records"
            self.domain_ = curator.exact(self._inferred(X, y), why=why)
        else:
            self.domain_ = _for_codes(self.domain) if _are_codes(y, self.domain) else self.domain
            self.n_features_in_ = self.domain_.n_attributes
            if isinstance(X, pd.DataFrame):
                self.feature_names_in_ = np.array(self.domain_.names, dtype=object)
        given = self.domain is not None
        how: dict[str, Any] = {"strict": self.strict or not given, "by_content": given, "people": people}
        return Records(X, y, domain=self.domain_, **how)

    def _open_records(self, records: RecordsDoor, y: object, people: object) -> RecordsDoor:
        """Take records that are encoded already; they carry labels, people and domain."""
        for name, given, of in (("y", y, "labels"), ("people", people, "people")):
            if given is not None:
                raise ValueError(
                    f"{name} given beside encoded records: they carry their {of}, call fit(records)"
                )
        if self.strict and not records.strict:
            raise ValueError(
                "strict=True, but the records were encoded with strict=False: encode them with strict=True, or leave "
                "it False here"
            )
        if self.domain not in (None, records.domain):
            raise ValueError(
                "domain differs from the one that the records were encoded with: leave it None, or encode them on it"
            )
        self.domain_ = records.domain
        self.n_features_in_ = self.domain_.n_attributes
        self.feature_names_in_ = np.array(self.domain_.names, dtype=object)
        return records

    def release(self, path: str | PathLike[str]) -> None:
        """Write the fitted model as a JSON document that :func:`dpnb.read` reads.

        The document holds what was released (trees or shapes), the domain, the parameters, the ledger and the versions.
        It holds no seed, no generator, and nothing about the records except what the ledger lists.

        Parameters
        ----------
        path : name of a new file.

        Raises
        ------
        FileExistsError If the file exists, because a card may have been signed for it.
        TypeError
            For an estimator that is not registered, or has released what documents do not hold.
        ValueError If parameters were changed after the fit, or if the document is larger than documents may be.

        Warns
        -----
        PrivacyLeakWarning
            If the ledger says ε = ∞; it names the leaks.

        **Privacy**: post-processing of the released model, free.
        """
        file, name = check_path("path", path, such="model.json"), type(self).__name__
        self._check_unchanged()
        check_new(file)
        if name not in ESTIMATORS or find_class(name, ESTIMATORS) is not type(self):
            raise TypeError(
                f"{name} of {type(self).__module__} has no name in documents, so nobody could read it: expected an "
                "estimator that dpnb.estimators.base.register lists; register it there and in whatever reads it, or "
                "pickle the model"
            )
        text = text_of(self._document())
        try:
            _revived(parsed(text.encode()))
        except DataError as error:
            raise ValueError(f"this {name} would not be read again: the document {error}") from error
        if np.isinf(self.ledger_.epsilon):
            leaks = ", ".join(self.ledger_.leaks) or "epsilon=inf"
            warnings.warn(
                f"{file} says ε = ∞, the model is not differentially private: {leaks}",
                PrivacyLeakWarning,
                stacklevel=2,
            )
        write_whole(file, text)

    def _document(self) -> dict[str, Any]:
        secret = ("random_state", "domain")
        parameters = self.get_params(deep=False)
        return {
            "estimator": type(self).__name__,
            "versions": {name: version(name) for name in ("dpnb", "numpy", "scikit-learn")},
            "domain": self.domain_.document(),
            "parameters": {name: plain(value) for name, value in parameters.items() if name not in secret},
            "model": {name: plain(getattr(self, name)) for name in self._released},
            "ledger": ledger_document(self.ledger_),
        }

    def __getattr__(self, name: str) -> Any:
        message = f"{type(self).__name__!r} object has no attribute {name!r}"
        if name.endswith("_") and not name.startswith("_") and "ledger_" not in vars(self):
            message += " before it is fitted: expected a fitted model, call fit(X, y) first"
        raise AttributeError(message)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Scikit-learn's checks pass arrays of real numbers.
        tags.input_tags.categorical = True
        tags.input_tags.two_d_array = not self.discrete_only
        tags.input_tags.allow_nan = self.domain is not None and not self.strict
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "ledger_")

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        goes_on = isinstance(self.random_state, STREAMS)
        return {**state, "random_state": None} if goes_on or self.__sklearn_is_fitted__() else state

    def __sklearn_clone__(self) -> Self:
        twin: Self = _clone_parametrized(self)
        twin.random_state = spawned(self.random_state)
        return twin

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name, without the seed where scikit-learn prints them, as it does for a Pipeline's steps."""
        parameters: dict[str, Any] = super().get_params(deep)
        return parameters | {"random_state": None} if self._is_printed() else parameters

    def _is_printed(self) -> bool:
        frame = None if self.random_state is None else sys._getframe(1)
        while frame is not None:
            asks = frame.f_globals.get("__name__", "")
            if asks.startswith("sklearn.") and ("pprint" in asks or "repr" in asks):
                return True
            frame = frame.f_back
        return False

    @property
    def _budget(self) -> float:
        """Budget under add/remove; a replacement is a removal and an addition, and each pays half."""
        return float(self.epsilon) / (2 if self.neighbours == "replace" else 1)

    def worst_cost(self) -> Cost:
        """The most that a fit on a public domain may cost, whatever the records hold and whatever is drawn.

        Returns
        -------
        Pure ε and zCDP ρ under add/remove. They are infinite with ``strict``, and with options that go beyond the
        claim. A claim with δ gives no pure ε, and the ρ of Gaussian noise that has this claim.

        Raises
        ------
        ValueError
            For a parameter out of range.
        """
        self._check_parameters()
        if self.strict or any(getattr(self, name) in values for name, values in self._beyond.items()):
            return Cost(math.inf, math.inf)
        budget = self._budget
        if self.delta is None:
            return Cost(budget, budget * budget / 2)
        rho = gaussian_rho(epsilon=float(self.epsilon), delta=self.delta)
        return Cost(math.inf, rho / (4 if self.neighbours == "replace" else 1))

    def _asked(self, X: pd.DataFrame | ArrayLike) -> Floats:
        """Records to predict for, as numbers."""
        self._check_unchanged()
        if isinstance(X, np.ndarray) and X.ndim == 1:
            raise ValueError("X is one-dimensional. Reshape your data: X.reshape(1, -1) for one record")
        if self.domain is None:
            validate_data(self, as_frame(X), skip_check_array=True, reset=False)
        return self._codes(X)

    def _codes(self, X: pd.DataFrame | ArrayLike) -> Floats:
        """Records as numbers, with misfits replaced as by ``fit``, and refused where ``fit`` refuses them."""
        if self.strict or getattr(self, "_read_off", False):
            try:
                return self.domain_.encode(X, strict=self.strict)
            except DomainError as error:
                raise (error if self.domain is not None else without_domain(error)) from error
        codes, moves = self.domain_.replaced_and_moves(X)
        if moves:
            warnings.warn(f"moved into the domain, as by fit: {joined(moves.texts())}", stacklevel=3)
        return codes

    @classmethod
    def _of_today(cls, released: Mapping[str, Any]) -> dict[str, Any]:
        """What a document released, which an earlier version may have written, by the names of today."""
        return dict(released)

    def _check_revived(self) -> None:
        """Raise DataError unless the model of a document predicts; any fault shows here."""
        raise NotImplementedError


class PrivateClassifier(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """Base of the classifiers, whose method :meth:`_votes` says how a fitted one decides.

    Attributes
    ----------
    classes_ : the domain's classes.
    """

    @property
    def classes_(self) -> NDArray[Any]:
        """The domain's classes, in the order of the columns of :meth:`predict_proba`."""
        classes = self.domain_.classes
        kinds = {type(label) for label in classes}
        # NumPy makes texts of all classes where one is a text, and rows of those that are tuples.
        alike = kinds <= {int, float} or (len(kinds) == 1 and tuple not in kinds)
        return np.array(classes) if alike else objects(classes)

    def _check_target(self, domain: Domain) -> None:
        super()._check_target(domain)
        classes, name = domain.n_classes, type(self).__name__
        if domain.response is not None:
            raise ValueError(
                f"the domain's target {domain.target!r} is a number, and {name} is for classes: "
                "PrivateBoosterRegressor is for numbers"
            )
        if self.two_classes and classes != 2:
            why = f"{classes} classes: {name} is for two; PrivateBooster takes any number"
            raise ValueError(f"Only binary classification is supported. {why}")

    def _inferred(self, X: Any, y: Any) -> Domain:
        distinct(as_series(y), of="the labels")
        check_classification_targets(y)
        return Domain.infer(X, y)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = not self.two_classes
        tags.classifier_tags.poor_score = math.isfinite(self.epsilon)  # noise may hide what there is to learn
        return tags

    def _votes(self, codes: Floats) -> Floats:
        """Unnormalised class scores of encoded records, (n, classes)."""
        raise NotImplementedError

    def predict_proba(self, X: pd.DataFrame | ArrayLike) -> Floats:
        """Class probabilities.

        Parameters
        ----------
        X : (n, attributes) records. Misfits are moved into the domain as by ``fit``, with a warning that shows values
            of ``X``. With ``strict``, or if no domain was given, misfits raise an error; without a domain, numbers
            beyond the bounds are routed like the bounds.

        Returns
        -------
        (n, classes), columns in the order of ``classes_``.

        **Privacy**: post-processing of the released model, free.
        """
        return self._probabilities(self._asked(X))

    def _probabilities(self, codes: Floats) -> Floats:
        """Class probabilities of encoded records, (n, classes)."""
        scores = self._votes(codes)
        shares: Floats = scores / scores.sum(axis=1, keepdims=True)
        return shares

    def predict(self, X: pd.DataFrame | ArrayLike) -> NDArray[Any]:
        """The most probable class of every record, (n,)."""
        chosen = self.predict_proba(X).argmax(axis=1)
        result: NDArray[Any] = self.classes_[chosen]
        return result

    def _check_revived(self) -> None:
        shares = self._probabilities(np.nan_to_num(self.domain_.lows)[None])
        if shares.shape != (1, self.domain_.n_classes) or not np.isfinite(shares).all():
            raise DataError(f"its model has no probabilities for {self.domain_.n_classes} classes")


class PrivateRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """Base of the regressors, whose method :meth:`_numbers` says what a fitted one predicts."""

    def _check_target(self, domain: Domain) -> None:
        super()._check_target(domain)
        if domain.response is None:
            raise ValueError(
                f"the domain's target {domain.target!r} is a class, and {type(self).__name__} is for numbers: "
                "PrivateBooster is for classes; a number has a range, Domain(attributes, response=Continuous(...))"
            )

    def _inferred(self, X: Any, y: Any) -> Domain:
        return Domain.infer(X, y, numbers=True)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = math.isfinite(self.epsilon)  # noise may hide what there is to learn
        return tags

    def _numbers(self, codes: Floats) -> Floats:
        """Predictions for encoded records, (n,)."""
        raise NotImplementedError

    def predict(self, X: pd.DataFrame | ArrayLike) -> Floats:
        """The number predicted for every record, (n,), in the target's unit and inside of its range.

        Parameters
        ----------
        X : (n, attributes) records; misfits are treated as by :meth:`PrivateClassifier.predict_proba`.

        **Privacy**: post-processing of the released model, free.
        """
        return self._numbers(self._asked(X))

    def _check_revived(self) -> None:
        if not np.isfinite(self._numbers(np.nan_to_num(self.domain_.lows)[None])).all():
            raise DataError("its model predicts no finite number")


def read(path: str | PathLike[str]) -> PrivateEstimator:
    """Read a model that :meth:`PrivateEstimator.release` wrote. The model predicts the same, to the bit.

    Parameters
    ----------
    path : the document.

    Raises
    ------
    DataError If the file is no such document, or if its ledger does not belong to its model.
    """
    document = read_document(check_path("path", path, such="model.json"))
    try:
        return _revived(document)
    except DataError as error:
        if later := later_writer(document):
            raise DataError(
                f"{path} was written by {later}, and this is dpnb {version('dpnb')}, which cannot read it: install "
                f"{later}, or a later one ({error})"
            ) from error
        raise DataError(f"{path} {error}; fetch it again, or release the model again") from error


def _revived(document: dict[str, Any]) -> PrivateEstimator:
    """The model of a document; any fault raises a DataError in words that say what the document is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _made_of(document)
    except DataError as error:
        raise DataError(f"is damaged: {error}") from error
    except Exception as error:  # a wrong entry may lead to any error
        why = " ".join(str(error).split())
        raise DataError(f"is damaged: {type(error).__name__}: {why}") from error


def _made_of(document: dict[str, Any]) -> PrivateEstimator:
    kind = find_class(document["estimator"], ESTIMATORS)
    domain = domain_of(document["domain"])
    released = kind._of_today(document["model"])
    vote = released.pop("vote", None)  # stated for a forest, unless its document is of version 1
    if set(released) != set(kind._released):
        raise DataError(f"a {kind.__name__} has {', '.join(kind._released)}")
    if unknown := sorted(set(document["parameters"]) - set(inspect.signature(kind).parameters)):
        raise DataError(f"a {kind.__name__} has no parameter {unknown[0]!r}")
    model: PrivateEstimator = kind(
        domain=domain, **{name: unplain(value, domain) for name, value in document["parameters"].items()}
    )
    model._check_parameters()
    ledger = read_ledger(document["ledger"])
    _check_alike(model, ledger)
    if vote not in (None, getattr(model, "vote", None)):
        raise DataError(f"its trees vote by {vote!r}, and not as those of its parameters")
    for name, value in released.items():
        found = unplain(value, domain)
        for part in found if isinstance(found, list) else [found]:
            if not isinstance(part, float):
                part.check(domain)
        setattr(model, name, found)
    model.domain_ = domain
    model.n_features_in_ = domain.n_attributes
    model.ledger_ = ledger
    model._used = model._given()
    model._check_revived()
    return model


def _check_alike(model: PrivateEstimator, ledger: Ledger) -> None:
    """Raise DataError unless the ledger may come from a fit with the model's parameters."""
    if not ledger.epsilon > 0:
        raise DataError("its ledger says that nothing was released, ε = 0, beside a model")
    claims = (ledger.claimed, ledger.delta, ledger.neighbours)
    parameters = (model.epsilon, model.delta, model.neighbours)
    if claims != parameters:
        raise DataError(
            f"its ledger is for epsilon, delta, neighbours = {claims}, its parameters are {parameters}"
        )


class PrivateForest(PrivateClassifier):
    """Base of the forests, whose trees have released leaf counts and are combined by ``vote``.

    Attributes
    ----------
    trees_ : list of :class:`~dpnb.trees.tree.Tree`.
    """

    _released: ClassVar = ("trees_",)

    bags: str = "full"
    bag_rate: float | None = None
    vote: str
    trees_: list[Tree]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._bags()
        if self.domain is not None and (depth := self._full_depth()) is not None:
            check_nodes(2 ** min(depth + 1, 64) - 1, depth=depth, n_classes=self.domain.n_classes)

    def _number(self) -> int:
        """Number of trees."""
        return int(getattr(self, "n_trees", 1))

    def _bags(self) -> Bags:
        return Bags(self.bags, self._number(), self.bag_rate)

    def _full_depth(self) -> int | None:
        """Depth to which all paths lead, by two branches at each node; None where outputs decide."""
        return None

    def _document(self) -> dict[str, Any]:
        document = super()._document()
        document["model"]["vote"] = self.vote  # for readers that do not know the class
        return document

    def _plant(
        self,
        records: RecordsDoor,
        curator: Curator,
        grow: Callable[[TreeBuilder, float], Tree],
        *,
        alike: bool,
    ) -> list[Tree]:
        """Draw the bags and grow a tree on each.

        Parameters
        ----------
        grow : function from a builder at the root of a bag, and the ε that every path may spend on each copy of a
            record, to a tree.
        alike : whether all paths cost the same, whatever is released; otherwise the ledger books each path in full.

        **Privacy**: bags compose by fact F2, see :class:`~dpnb.records.bags.Bags`.
        """
        bags, n_trees = self._bags(), self._number()
        seed = curator.public(lambda rng: int(rng.integers(2**63)), what="seed of the bags")
        per_copy = bags.per_copy_epsilon(self._budget)
        most = None if alike else Cost.pure(per_copy)
        trees = []
        with bags.forest_scope(curator.ledger, f"forest of {n_trees} trees"):
            for b in range(n_trees):
                with bags.tree_scope(curator.ledger), curator.ledger.tree("tree", most=most) as scope:
                    cohort = records.bag(bags, seed=seed, tree=b)
                    trees.append(grow(TreeBuilder(records.domain, scope, cohort), per_copy))
        return trees

    def _votes(self, codes: Floats) -> Floats:
        votes = np.zeros((len(codes), self.domain_.n_classes))
        for tree in self.trees_:
            votes += leaf_votes(tree.value, vote=self.vote)[tree.apply(codes)]
        return votes


def register(estimator: type[PrivateEstimator]) -> None:
    """Give an estimator of your own a name in documents, so that its models can be released and read.

    Whoever reads such a document has to import the module that makes this call.

    Raises
    ------
    ValueError
        If another class has that name already.
    """
    name, home = estimator.__name__, estimator.__module__
    if name in ESTIMATORS and find_class(name, ESTIMATORS) is not estimator:
        raise ValueError(f"{name!r} is registered already, by {ESTIMATORS[name]}: rename one")
    ESTIMATORS.setdefault(name, home)
