"""What all checks of exercises do with an answer: say in words that it is right, not written yet, or unusable."""

from __future__ import annotations

import inspect
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from IPython import get_ipython

P = ParamSpec("P")
Answer = Callable[..., Any]


class _NotWrittenError(Exception):
    """The answer returned nothing."""


def judge(check: Callable[Concatenate[Any, P], str | None]) -> Callable[Concatenate[Any, P], None]:
    """Make a check print what it found.

    The check tries the answer, a function, on cases with a known result; it raises an :class:`AssertionError` that says
    which case fails and why, or returns what there is to add to "all right".

    A notebook prints what is wrong on the channel of errors and goes on, since a traceback would show the check's
    source, and with it the solution. No notebook of the book prints anything there, so nbval, and the command that
    stores outputs, refuse one whose answers are wrong.

    Raises
    ------
    AssertionError
        Outside a notebook, if a case fails, or if what the answer returns cannot be compared with what is expected. An
        error that the answer itself raises is left as it is.
    """

    @wraps(check)
    def judged(answer: Answer, /, *more: P.args, **options: P.kwargs) -> None:
        try:
            _tried(check, answer, *more, **options)
        except KeyboardInterrupt as stopped:
            vars(stopped)["_render_traceback_"] = lambda: [
                "Stopped before the check had ended."
            ]  # for IPython
            raise
        except Exception as error:
            if get_ipython() is None:
                raise
            print(_in_words(error, answer), file=sys.stderr)

    return judged


def _tried(check: Callable[..., str | None], answer: Answer, *more: Any, **options: Any) -> None:
    """Print that an answer is right or not written yet; raise what is wrong with it."""
    returned: list[Any] = []
    raised: list[BaseException] = []
    name = getattr(answer, "__name__", "your answer")
    expected = (check.__doc__ or "").strip().split("\n")[0]

    def watched(*given: Any, **named: Any) -> Any:
        _fits(answer, name, expected, given, named)
        try:
            returned.append(answer(*given, **named))
        except Exception as error:
            raised.append(error)
            raise
        if returned[-1] is None:
            raise _NotWrittenError
        return returned[-1]

    if not callable(answer):
        raise AssertionError(f"{answer!r} is no function. {expected}")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="private_trees")  # they show a line of the check
            found = check(watched, *more, **options)
    except _NotWrittenError:
        print(f"{name} returns nothing yet: write its body and run this cell again.")
    except AssertionError:
        raise
    except Exception as error:
        if error in raised or not returned:
            raise
        kind = type(returned[-1]).__name__
        raise AssertionError(
            f"{name} returns {returned[-1]!r}, of the type {kind}, which cannot be compared: {error}. {expected}"
        ) from error
    else:
        print("all right" + (f"; {found}" if found else ""))


def _in_words(error: Exception, answer: Answer) -> str:
    """What is wrong; of an error of the answer's own, its kind and the line of the answer that it comes from."""
    code = getattr(inspect.unwrap(answer), "__code__", None) if callable(answer) else None
    steps = traceback.extract_tb(error.__traceback__)
    own = [step for step in steps if code and step.filename == code.co_filename]
    if isinstance(error, AssertionError) and not (own and own[-1] is steps[-1]):
        return str(error)
    at = f", in the line: {own[-1].line}" if own else ""
    return f"{getattr(answer, '__name__', 'your answer')} raises {type(error).__name__}: {error}{at}"


def _fits(answer: Answer, name: str, expected: str, given: Sequence[Any], named: Mapping[str, Any]) -> None:
    """Refuse a function that cannot take what the check gives it."""
    signature = inspect.signature(answer)
    try:
        signature.bind(*given, **named)
    except TypeError as error:
        words = [*(type(value).__name__ for value in given), *(f"{key}=…" for key in named)]
        raise AssertionError(
            f"{name}{signature} is called with ({', '.join(words)}): {error}. {expected}"
        ) from error
