"""Attacks on diffprivlib: its forest, tree, logistic regression and naive Bayes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from audit_case import QUERY, Case, Data, at_one, label_1, without_first
from sklearn.base import clone

# --- What is looked at --------------------------------------------------------------------------------------


def one_vote_for_each_class_but_the_first(forest: Any) -> list[bool]:
    votes = np.rint(forest.predict_proba(QUERY)[0] * forest.n_estimators)
    return [votes.tolist() == [0, 1, 1, 1, 1, 1]]


def class_1_gets_a_vote(forest: Any) -> list[bool]:
    return [forest.predict_proba(QUERY)[0, 1] > 0]


def first_tree_says_0_and_second_1(forest: Any) -> list[bool]:
    return [[tree.predict(QUERY)[0] for tree in forest.estimators_] == [0, 1]]


def undecided(model: Any, *, x: float) -> list[bool]:
    return [0.05 <= model.predict_proba(np.array([[x]]))[0, 1] <= 0.95]


def slope(model: Any) -> list[float]:
    return [model.coef_[0, 0]]


def many_steps(model: Any) -> list[bool]:
    return [model.n_iter_[0] > 2]


def three_columns(model: Any) -> list[bool]:
    return [model.predict_proba(QUERY).shape[1] == 3]


def counts_add_up_to(model: Any, *, total: int) -> list[bool]:
    return [model.class_count_.sum() == total]


def moments(model: Any) -> list[float]:
    return [*model.class_count_, *model.theta_[:, 0], *model.var_[:, 0]]


# --- The neighbours -----------------------------------------------------------------------------------------


def chained_blocks(trees: int, spread: int) -> Data:
    """A block of records for each tree: class k first, then ``spread`` of class k and of class k + 1.

    Without the very first record every block starts one record later: each tree loses a record of class k and
    gains one of class k + 1, so that the majority of each of them changes.
    """
    blocks = [[k] + spread * [k, k + 1] for k in range(trees)]
    return at_one([label for block in blocks for label in block])


def with_last(x: float, y: int) -> Data:
    """Records (0, 0) and (0, 1), which do not depend on the slope, and one of interest."""
    return np.array([[0.0], [0.0], [x]]), np.array([0, 1, y])


def independent(name: str, *values: Any, **options: Any) -> Any:
    """A model of diffprivlib whose fit does not add to the budget of earlier ones."""
    from diffprivlib import models
    from diffprivlib.accountant import BudgetAccountant

    BudgetAccountant().set_default()  # else the record of spent budgets grows, and every fit adds it up
    return getattr(models, name)(*values, **options)


def forest(trees: int, epsilon: float, classes: int, **options: Any) -> Callable[[], Any]:
    return partial(
        independent,
        "RandomForestClassifier",
        trees,
        epsilon=epsilon,
        bounds=(0, 1),
        classes=list(range(classes)),
        max_depth=1,
        **options,
    )


def cases() -> Iterator[Case]:
    """All attacks, in the order of the table."""
    chain = chained_blocks(5, 10)
    for epsilon in (0.5, 1.0, 2.0):
        yield Case(
            f"forest-5-add-remove-{epsilon:g}",
            "RandomForestClassifier, 5 trees, shuffle=False",
            "diffprivlib",
            "add-remove",
            epsilon,
            10_000,
            forest(5, epsilon, 6),
            chain,
            without_first(chain),
            "105 equal points; labels k, k+1 alternate in the block of tree k; D′ lacks the first record",
            one_vote_for_each_class_but_the_first,
            "predict_proba at the point: one vote for each of the classes 1 to 5, none for class 0",
        )
    yield Case(
        "forest-2-shuffled-add-remove-1",
        "RandomForestClassifier, 2 trees, shuffle=True",
        "diffprivlib",
        "add-remove",
        1.0,
        20_000,
        forest(2, 1.0, 2, shuffle=True),
        at_one([0, 1, 1, 1]),
        at_one([1, 1, 1]),
        "4 equal points, one of class 0 and three of class 1; D′ lacks the one of class 0",
        first_tree_says_0_and_second_1,
        "estimators_ at the point: the first tree says 0 and the second 1",
    )
    for epsilon in (0.5, 1.0, 2.0):
        yield Case(
            f"forest-1-replace-{epsilon:g}",
            "RandomForestClassifier, 1 tree",
            "diffprivlib",
            "replace",
            epsilon,
            20_000,
            forest(1, epsilon, 2),
            at_one([0, 0]),
            at_one([0, 1]),
            "2 equal points of class 0; in D′ one of them has class 1",
            label_1,
            "predict at the point: class 1",
        )
    others = [2] * 40
    yield Case(
        "forest-5-replace-1",
        "RandomForestClassifier, 5 trees, shuffle=False",
        "diffprivlib",
        "replace",
        1.0,
        10_000,
        forest(5, 1.0, 3),
        at_one([0, *[0] * 5, *[1] * 4, *others]),
        at_one([1, *[0] * 5, *[1] * 4, *others]),
        "50 equal points; the first tree gets 6 of class 0 and 4 of class 1, in D′ 5 and 5",
        class_1_gets_a_vote,
        "predict_proba at the point: class 1 gets a vote",
    )
    for relation, first, second, words in (
        ("add-remove", [0, 0, 1], [0, 1], "3 equal points of classes 0, 0, 1; D′ lacks one of class 0"),
        ("replace", [0, 0], [0, 1], "2 equal points of class 0; in D′ one of them has class 1"),
    ):
        yield Case(
            f"tree-{relation}-1",
            "DecisionTreeClassifier",
            "diffprivlib",
            relation,
            1.0,
            20_000,
            partial(independent, "DecisionTreeClassifier", 1, epsilon=1.0, bounds=(0, 1), classes=[0, 1]),
            at_one(first),
            at_one(second),
            words,
            label_1,
            "predict at the point: class 1",
        )
    yield from logistic_cases()
    yield from bayes_cases()
    yield from seed_cases()


def logistic_cases() -> Iterator[Case]:
    """diffprivlib's LogisticRegression: the data norm, and the classes.

    Most cases go without the intercept, which the objective does not regularise.
    """
    bare: dict[str, Any] = {"fit_intercept": False}
    for name, relation, epsilon, options in (
        ("replace-0.5", "replace", 0.5, bare),
        ("replace-1", "replace", 1.0, bare),
        ("replace-2", "replace", 2.0, bare),
        ("add-remove-1", "add-remove", 1.0, bare),
        ("defaults-replace-1", "replace", 1.0, {}),
    ):
        second = with_last(0.0, 1) if relation == "replace" else (np.zeros((2, 1)), np.array([0, 1]))
        change = "is at 0" if relation == "replace" else "is missing"
        yield Case(
            f"logistic-norm-100-{name}",
            f"LogisticRegression, data_norm=100, {'fit_intercept=False' if options else 'else defaults'}",
            "diffprivlib",
            relation,
            epsilon,
            20_000,
            partial(independent, "LogisticRegression", epsilon=epsilon, data_norm=100.0, **options),
            with_last(100.0, 1),
            second,
            f"records (0, class 0), (0, class 1) and (100, class 1); in D′ the last one {change}",
            partial(undecided, x=100.0),
            "predict_proba at 100: between 0.05 and 0.95",
        )
    for name, last, words in (("flipped", (1.0, 0), "has class 0"), ("moved", (0.0, 1), "is at 0")):
        yield Case(
            f"logistic-norm-1-{name}-replace-1",
            "LogisticRegression, data_norm=1, fit_intercept=False",
            "diffprivlib",
            "replace",
            1.0,
            20_000,
            partial(independent, "LogisticRegression", epsilon=1.0, data_norm=1.0, **bare),
            with_last(1.0, 1),
            with_last(*last),
            f"records (0, class 0), (0, class 1) and (1, class 1); in D′ the last one {words}",
            slope,
            names=("coef_",),
        )
    yield Case(
        "logistic-steps-replace-1",
        "LogisticRegression, data_norm=1, fit_intercept=False",
        "diffprivlib",
        "replace",
        1.0,
        2_000,
        partial(independent, "LogisticRegression", epsilon=1.0, data_norm=1.0, **bare),
        with_last(1.0, 1),
        with_last(0.0, 1),
        "records (0, class 0), (0, class 1) and (1, class 1); in D′ the last one is at 0",
        many_steps,
        "n_iter_ is above 2",
    )
    yield Case(
        "logistic-classes-replace-1",
        "LogisticRegression, data_norm=1, classes from the data",
        "diffprivlib",
        "replace",
        1.0,
        2_000,
        partial(independent, "LogisticRegression", epsilon=1.0, data_norm=1.0),
        with_last(1.0, 2),
        with_last(1.0, 1),
        "3 records of classes 0, 1 and 2; in D′ the last one has class 1",
        three_columns,
        "predict_proba has three columns",
    )


def bayes_cases() -> Iterator[Case]:
    """diffprivlib's GaussianNB."""
    naive = partial(independent, "GaussianNB", epsilon=1.0, bounds=(0, 1))
    X = np.array([0.0, 0.0, 1.0, 0.0, 0.0])[:, None]
    y = np.array([0, 0, 0, 1, 1])
    yield Case(
        "bayes-add-remove-1",
        "GaussianNB",
        "diffprivlib",
        "add-remove",
        1.0,
        2_000,
        naive,
        (X, y),
        without_first((X, y)),
        "5 records, 3 of class 0; D′ lacks one of class 0",
        partial(counts_add_up_to, total=5),
        "class_count_ adds up to 5",
    )
    X = np.repeat([1.0, 0.0], [6, 5])[:, None]
    y = np.repeat([0, 1], [6, 5])
    yield Case(
        "bayes-replace-1",
        "GaussianNB",
        "diffprivlib",
        "replace",
        1.0,
        20_000,
        naive,
        (X, y),
        (X, np.repeat([0, 1], [5, 6])),
        "6 records at 1 of class 0 and 5 at 0 of class 1; in D′ one at 1 has class 1",
        moments,
        names=tuple(f"{name}[{c}]" for name in ("class_count_", "theta_", "var_") for c in (0, 1)),
    )


def seed_cases() -> Iterator[Case]:
    """The seed that each tree of a fitted forest keeps, also where the forest was given none."""
    first, second = at_one([0, 0]), at_one([0, 1])
    yield Case(
        "forest-seeds-replace-1",
        "RandomForestClassifier, 1 tree, the fitted object",
        "diffprivlib",
        "replace",
        1.0,
        2_000,
        partial(Unseeded, forest(1, 1.0, 2)),
        first,
        second,
        "2 equal points of class 0; in D′ one of them has class 1",
        partial(is_the_tree_of, first=first, second=second),
        "the tree's label at the point is that of a tree with the seed in estimators_ on D, and not that of one on D′",
    )


class Unseeded:
    """A forest without a seed: it draws from the global generator."""

    def __init__(self, make: Callable[[], Any]):
        self.model = make()

    def fit(self, X: Any, y: Any) -> Unseeded:
        self.model.fit(X, y)
        return self


def is_the_tree_of(made: Unseeded, *, first: Data, second: Data) -> list[bool]:
    """Whether the first tree says what its stored seed makes of D, where D′ would have made something else of it."""
    tree = made.model.estimators_[0]
    label, of_first, of_second = (
        model.predict(QUERY)[0] for model in (tree, *(clone(tree).fit(*data) for data in (first, second)))
    )
    return [label == of_first != of_second]
