"""The recorder of calls: it takes down what other people's mechanisms are asked for, and answers with known outputs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

from .contents import Fact
from .primitives import Call, Library, kept, loaded


@dataclass
class Answered:
    """A call, its output, and the state of its generator afterwards."""

    call: Call
    output: Any
    state: Any


@dataclass(eq=False)
class CallTape:
    """The calls of one fit, with outputs as drawn, or those of a script where it asks for the same.

    A mechanism may share its generator with the model. After an output of a script the generator is left as the
    recorded call left it, so that all other random numbers of the fit stay the same.
    """

    script: Sequence[Answered] | None = None
    answers: list[Answered] = field(default_factory=list)
    partners: list[tuple[Call, Call, Any]] = field(
        default_factory=list
    )  # of the script, of this fit; the output
    astray: list[tuple[str, str]] = field(
        default_factory=list
    )  # what only one side did, in words, and its place
    facts: dict[str, Fact] = field(default_factory=dict)  # of the fitted model
    error: str = ""  # why the fit failed
    _next: int = 0

    def output(self, call: Call, draw: Callable[[], Any], generator: Any) -> Any:
        """The output of a call, after it was noted."""
        left = [] if self.script is None else self.script[self._next :]
        ahead = next((i for i, one in enumerate(left) if one.call.asked_as(call)), None)
        if ahead is None:
            self.astray += [(f"one {call.kind} more", call.place)] * (self.script is not None)
            answer = Answered(call, draw(), state_of(generator))
        else:
            self.leave_out(ahead)
            answer = replace(left[ahead], call=call)
            self._next += 1
            self.partners.append((left[ahead].call, call, answer.output))
            set_back(generator, answer.state)
        self.answers.append(answer)
        return kept(answer.output)

    def leave_out(self, number: int | None = None) -> None:
        """Note the next calls of the script, or all that are left, as not asked for."""
        left = (self.script or ())[self._next :][:number]
        self.astray += [(f"no {one.call.kind} any more", one.call.place) for one in left]
        self._next += len(left)


@contextmanager
def watching(tape: CallTape) -> Iterator[None]:
    """Let a tape answer the outermost calls of all primitives that are loaded."""
    busy = False

    def watched(library: Library, method: Callable[..., Any]) -> Callable[..., Any]:
        def ask(primitive: Any, *values: Any, **named: Any) -> Any:
            nonlocal busy
            draw = partial(method, primitive, *values, **named)
            if busy:  # a mechanism that is made of others is one call
                return draw()
            busy = True
            try:
                value = next(iter([*values, *named.values()]), None)
                call = library.call(primitive, value, _place(library))
                if call is None:
                    return library.passed(primitive, value, draw())
                return tape.output(call, draw, library.generator(primitive))
            finally:
                busy = False

        return ask

    with ExitStack() as stack:
        for library in loaded():
            for kind, name in library.primitives():
                stack.enter_context(mock.patch.object(kind, name, watched(library, getattr(kind, name))))
        yield


def _place(library: Library) -> str:
    """Module, line and function of the code that asked, in the library or in the user's code."""
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(
        (__name__, library.inside)
    ):
        frame = frame.f_back
    return f"{frame.f_globals.get('__name__')}:{frame.f_lineno} {frame.f_code.co_name}"


def state_of(generator: Any) -> Any:
    """The state of a random generator; None for what has none, such as that of the operating system."""
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    return generator.get_state() if isinstance(generator, np.random.RandomState) else None


def set_back(generator: Any, state: Any) -> None:
    """Put a generator into a state that was taken down of one of its kind."""
    if isinstance(generator, np.random.Generator) and isinstance(state, dict):
        generator.bit_generator.state = state
    elif isinstance(generator, np.random.RandomState) and isinstance(state, tuple):
        generator.set_state(state)
