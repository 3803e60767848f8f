"""Rules of a scripted model: steps for the prompts that a pattern matches."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyevm_agents.display import pluralize
from pyevm_agents.errors import ConfigError, ScriptError
from pyevm_agents.models import RepeatedStep
from pyevm_agents.models.fakes.parsed_request import ParsedPrompt, parse_prompt
from pyevm_agents.models.fakes.script_steps import describe_step
from pyevm_agents.models.fakes.scripted import describe_location, describe_prompt, require_script

if TYPE_CHECKING:
    from collections.abc import Sequence

    from precompiles.language_model import GenerationRequest
    from pyevm_agents.models.fakes.script_steps import Step


@dataclass(slots=True, kw_only=True)
class _PromptRule:
    """Steps for the prompts that a pattern matches."""

    pattern: re.Pattern[str]
    prompt: re.Pattern[str]
    steps: Sequence[Step]
    is_optional: bool
    used_steps: int = 0

    def __str__(self) -> str:
        more = f", prompt={self.prompt.pattern!r}" if self.prompt.pattern else ""
        return f"when({self.pattern.pattern!r}{more})"

    def matches(self, question: ParsedPrompt, step: int) -> bool:
        """Return whether the prompt of a step of a run matches both patterns."""
        text = f"{question.question}\n{question.render_history_before(step)}"
        return bool(
            self.pattern.search(text) and self.prompt.search(question.render_prompt_at(step))
        )


class PromptRules:
    """Rules in order, the first match wins. Not thread-safe."""

    def __init__(self, rules: Sequence[_PromptRule] = ()) -> None:
        """Create rules that start with inherited ones, whose unused steps are not listed."""
        self._rules = [*rules]
        self._inherited_rules = len(rules)
        self._chosen: dict[object, _PromptRule | None] = {}

    def add(
        self,
        pattern: str | re.Pattern[str],
        prompt: str | re.Pattern[str],
        steps: Sequence[Step],
        *,
        is_optional: bool,
    ) -> None:
        """Add a rule: these steps in each run that both patterns match.

        Raises:
            ConfigError: a pattern is not a regular expression, or one of the steps is not a step.
        """
        require_script(steps)
        self._rules.append(
            _PromptRule(
                pattern=_compile_pattern(pattern),
                prompt=_compile_pattern(prompt),
                steps=steps,
                is_optional=is_optional,
            )
        )

    def select_step(self, request: GenerationRequest) -> Step | None:
        """Return the step for a request; None if no pattern matches.

        Raises:
            ScriptError: the matching rule has no further step for this run.
        """
        question = parse_prompt(request)
        rule = self._find_rule(question, question.step)
        for key in _build_keys(question, question.step):
            self._chosen[key] = rule
        return None if rule is None else self._next_step(rule, question, request)

    def copy(self) -> PromptRules:
        """Return rules that inherit these; only the rules added later are its own."""
        return PromptRules(self._rules)

    def copy_with_state(self) -> PromptRules:
        """Return rules at the same step of each run, which share nothing with these."""
        copies = {id(rule): replace(rule) for rule in self._rules}
        rules = PromptRules([*copies.values()])
        rules._chosen = {
            key: None if rule is None else copies[id(rule)] for key, rule in self._chosen.items()
        }
        return rules

    def describe_mismatch(self) -> str:
        """Return a line on the patterns that a prompt did not match, or empty."""
        if not self._rules:
            return ""
        patterns = ", ".join(map(str, self._rules))
        return f"None of its patterns matches the question and the steps so far: {patterns}.\n"

    def list_unused_steps(self) -> list[str]:
        """Return lines on the steps of own rules that were not requested."""
        lines: list[str] = []
        for rule in self._rules[self._inherited_rules :]:
            if rule.used_steps < len(rule.steps) and not rule.is_optional:
                lines += [f"{rule} has steps that were not requested:", *_format_steps(rule)]
        return lines

    def _find_rule(self, question: ParsedPrompt, step: int) -> _PromptRule | None:
        return next((rule for rule in self._rules if rule.matches(question, step)), None)

    def _find_earlier_rule(self, question: ParsedPrompt, step: int) -> _PromptRule | None:
        """Return the rule of an earlier step of a run, whose system message may have differed."""
        for key in _build_keys(question, step):
            if key in self._chosen:
                return self._chosen[key]
        return self._find_rule(question, step)

    def _next_step(
        self, rule: _PromptRule, question: ParsedPrompt, request: GenerationRequest
    ) -> Step:
        """Return a rule's next step, counted from the first matching step of the run."""
        earlier = range(1, question.step)
        index = sum(self._find_earlier_rule(question, step) is rule for step in earlier)
        if index >= len(rule.steps) and rule.steps and isinstance(rule.steps[-1], RepeatedStep):
            index = len(rule.steps) - 1
        if index >= len(rule.steps):
            raise ScriptError(
                f"{rule} has {pluralize(len(rule.steps), 'step')}, all used in this run; "
                f"{describe_location(question)} asked for another: add a step.\nUsed:\n"
                + "\n".join([*_format_steps(rule), describe_prompt(request)])
            )
        rule.used_steps = max(rule.used_steps, index + 1)
        return rule.steps[index]


def _build_keys(question: ParsedPrompt, step: int) -> tuple[object, object]:
    """Return two keys of a step of a run: with the system message, and without."""
    history = question.history[: 2 * (step - 1)]
    return (question.opening, history), (question.question, history)


def _format_steps(rule: _PromptRule) -> list[str]:
    return [
        f"  {index + 1}. {describe_step(step)}" + ("" if index < rule.used_steps else " (not used)")
        for index, step in enumerate(rule.steps)
    ]


def _compile_pattern(pattern: str | re.Pattern[str]) -> re.Pattern[str]:
    if isinstance(pattern, re.Pattern):
        return pattern
    if not isinstance(pattern, str):
        raise ConfigError(f"when({pattern!r}, …): must be a regular expression or re.compile(…)")
    try:
        return re.compile(pattern, re.MULTILINE)
    except re.error as error:
        raise ConfigError(f"{pattern!r} is not a regular expression: {error}") from error
