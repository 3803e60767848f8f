"""How what agents did differs from what was expected, in words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyevm_agents.testing.matching import is_text, is_value, told

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.agents.trace import AgentStep
    from pyevm_agents.testing.matching import ExpectedText


def differences(wanted: Mapping[str, object], step: AgentStep) -> str | None:
    """Return in words which arguments are others; None where none is."""
    given, unlike = json.loads(step.action_input or "{}"), []
    for name, expected in wanted.items():
        if name not in given:
            unlike.append(f"there is no argument {name}, only {', '.join(given) or 'none at all'}")
        elif not is_value(expected, given[name]):
            actual = json.dumps(given[name], ensure_ascii=False)
            unlike.append(f"{name} is {actual}, not {told(expected)}")
    return "\n".join(unlike) or None


def difference(what: str, expected: ExpectedText, actual: str | None) -> str | None:
    """Return in words how a text is another one; None where it is not."""
    if actual is None:
        return f"{what} nothing: the tool reverted"
    if is_text(expected, actual):
        return None
    unlike = f"{what} {actual!r}, not {told(expected)}"
    if isinstance(expected, str) and expected and expected in actual:
        unlike += f" (a part of it: re.compile({expected!r}) looks for parts)"
    return unlike


def did(step: AgentStep) -> str:
    """Say what was done at a step."""
    return f"used {step.action}" if step.answer is None else "gave its final answer"


def at_each(marks: Mapping[int, str]) -> str:
    """Say what is marked at each step."""
    return "; ".join(
        f"at step {i + 1} {' and '.join(why.splitlines())}" for i, why in marks.items()
    )
