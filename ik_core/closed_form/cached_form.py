# SPDX-License-Identifier: Apache-2.0
"""The closed form of a problem, cached with the problem."""

from __future__ import annotations

from weakref import ref

from ..exceptions import UnsupportedProblem
from ..maths.rotations import Array
from ..problem import IkProblem
from .closed_form import ClosedForm


class CachedForm:
    """A problem's closed form, or the reason why it has none with its last frozen joint values.

    The problem is not kept alive.
    """

    def __init__(self, problem: IkProblem) -> None:
        self.form: ClosedForm | None = None
        self.why_not = ''
        self._problem = ref(problem)
        self._asked: bytes | None = None

    def is_for(self, problem: IkProblem) -> bool:
        """Return whether this is the form of a problem, whose tolerances may have changed."""
        return self._problem() is problem and (self.form is None or self.form.is_for(problem))

    def find(self, start: Array) -> ClosedForm | None:
        """Return the form; if there is none, try again if the frozen joints of a checked start
        (n,) differ."""
        problem = self._problem()
        if self.form is None and problem is not None:
            stands = problem.packed.frozen_values(start).tobytes()
            if stands != self._asked:
                self._asked = stands
                self._find_form(problem, start)
        return self.form

    def _find_form(self, problem: IkProblem, start: Array) -> None:
        try:
            self.form = ClosedForm(problem, start)
        except UnsupportedProblem as reason:
            self.why_not = str(reason)
