"""Runs of tasks without a chain: real prompt, grammar, model and parser, simulated tools.

A tool answers with the result of the task's next step if tool and arguments are that step's, else
with its default reply. For calibration, and for looking at a model while it is trained; the figures
of MODEL_CARD.md come from transactions (`benchmarks/agent_accuracy.py`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from benchmarks.shares import share_of
from precompiles.abi import FinalAnswer
from precompiles.decoding_rules import SHORT_FORMAT, DecodingRules
from precompiles.gate import withhold
from precompiles.language_model import NAT, GenerationRequest
from precompiles.outcome import UNSURE
from pyevm_agents.model_registry.profiles import build_model_profile
from pyevm_agents.models import LlamaModel
from training.runs import build_tools, prepare_step
from training.sample import calibration, held_out
from training.set_rules import RulesError, read_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from precompiles.abi import ToolUse
    from precompiles.language_model import Confidence, Generation, LanguageModel, ModelProfile
    from training.runs import ReadyStep
    from training.tasks import Task, TaskStep

Call: TypeAlias = "tuple[str, list[object]]"
"""A tool's name and its arguments."""

MAX_STEPS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsed:
    """A step of a run."""

    text: str
    tool: str
    """Empty for an answer."""

    arguments: tuple[object, ...]
    is_right: bool
    """Whether tool and arguments are those of the task's next step; for an answer, whether no step
    was left."""

    is_decided: bool
    """Whether the rules decided it, so that no model was asked."""

    confidence: Confidence | None
    output_tokens: int
    forced_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """A run of a task."""

    task: Task
    steps: tuple[Rehearsed, ...]
    answer: str
    is_right: bool
    """Whether the actions that change state are exactly the task's, in order."""

    @property
    def acted(self) -> bool:
        """Whether a tool that changes state was used."""
        acting = {tool.name for tool in self.task.tools if tool.is_action}
        return any(step.tool in acting for step in self.steps)

    @property
    def is_withheld(self) -> bool:
        """Whether the gate ended the run."""
        return self.answer.startswith(UNSURE)


def rehearse(task: Task, model: LanguageModel, profile: ModelProfile) -> Rehearsal:
    """Run a task."""
    tools = build_tools(task)
    acting = {tool.name for tool in task.tools if tool.is_action}
    wanted = list(task.steps)
    reasonings: list[str] = []
    results: list[str] = []
    steps: list[Rehearsed] = []
    done: list[Call] = []
    answer = ""
    while len(steps) < MAX_STEPS and not answer:
        ready = prepare_step(task, tools, reasonings, results, profile)
        generation, result = generate_step(ready, model, profile)
        call: Call = ("", [])
        if isinstance(result, FinalAnswer):
            answer = result.answer
            is_right = not wanted
        else:
            tool = next(one for one in tools if one.address == result.tool)
            call = (tool.name, [_plain(value) for value in result.values])
            is_right = bool(wanted) and call == expect(wanted[0])
            step = wanted.pop(0) if is_right else None
            results.append(
                next(one.default_reply for one in task.tools if one.name == tool.name)
                if step is None
                else step.observation
            )
            reasonings.append(result.agent_reasoning)
            if tool.name in acting and not (step and step.is_failure):
                done.append(call)
        steps.append(
            Rehearsed(
                text=generation.text,
                tool=call[0],
                arguments=tuple(call[1]),
                is_right=is_right,
                is_decided=bool(ready.form.decided),
                confidence=generation.confidence,
                output_tokens=len(generation.tokens),
                forced_tokens=generation.forced_tokens,
            )
        )
    expected = [expect(step) for step in task.actions]
    return Rehearsal(task=task, steps=tuple(steps), answer=answer, is_right=done == expected)


def generate_step(
    ready: ReadyStep, model: LanguageModel, profile: ModelProfile
) -> tuple[Generation, ToolUse | FinalAnswer]:
    """Generate and parse a step as the executor does, without gas."""
    rules = DecodingRules.parse(profile.decoding)
    generation = model.generate(
        GenerationRequest(
            segments=ready.segments,
            prompt_tokens=model.tokenize(ready.segments),
            grammar=ready.grammar,
            max_tokens=profile.max_output_tokens,
            handles=ready.book.handles,
            scoring=ready.form.scoring,
            decided=ready.form.decided,
        )
    )
    result = withhold(
        ready.form.read(generation),
        generation.confidence,
        rules.max_surprisal,
        ready.tools,
        ready.steps,
    )
    return generation, result


def expect(step: TaskStep) -> Call:
    """Return the call of a right step."""
    return step.tool, [_plain(value) for value in step.arguments.values()]


def _plain(value: object) -> object:
    return list(value) if isinstance(value, (tuple, list)) else value


def summarize(runs: Sequence[Rehearsal]) -> dict[str, str]:
    """Return the figures of runs, by name."""
    by: dict[str, list[bool]] = defaultdict(list)
    for run in runs:
        part = "held-out" if run.task.is_held_out else "trained"
        by[f"{run.task.category}, {part}"].append(run.is_right)
        if run.task.steps:
            by[f"first tool, {part}"].append(run.steps[0].tool == run.task.steps[0].tool)
        should = bool(run.task.actions)
        if run.acted:
            by["precision of acting runs"].append(run.is_right)
        if should:
            by["coverage"].append(run.acted and run.is_right)
        if run.task.category == "injection":
            by["injection obeyed"].append(any(step.tool == run.task.injected for step in run.steps))
    chosen = sum(s.output_tokens - s.forced_tokens for run in runs for s in run.steps)
    tokens = sum(s.output_tokens for run in runs for s in run.steps)
    figures = {name: str(share_of(values)) for name, values in sorted(by.items())}
    decided = share_of([step.is_decided for run in runs for step in run.steps])
    figures["steps decided by the rules"] = str(decided)
    figures["tokens of a run"] = f"{tokens / len(runs):.1f}, {chosen / len(runs):.1f} chosen"
    return figures


def main(arguments: Sequence[str] | None = None) -> int:
    """Run held-out tasks and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--adapter", type=Path, help="GGUF file of the adapter; default: the default model's")
    add("--tasks", type=int, default=100)
    add("--seed", type=int, default=11)
    add("--calibration", action="store_true", help="tasks of the families for calibration")
    add("--free", action="store_true", help="the free format")
    add("--rule", action="append", default=[], metavar="NAME=VALUE", help="a decoding rule")
    add("--show", type=int, default=0, help="wrong runs to print")
    add("--json", type=Path, help="write every run")
    options = parser.parse_args(arguments)
    rules = {} if options.free else {"short_format": SHORT_FORMAT}
    try:
        rules |= read_rules(options.rule)
    except RulesError as error:
        parser.error(str(error))
    runs: list[Rehearsal] = []
    with LlamaModel(adapter=options.adapter) as model:
        profile = replace(
            build_model_profile(model.profile_facts), decoding=tuple(sorted(rules.items()))
        )
        tasks = (calibration if options.calibration else held_out)(options.tasks, options.seed)
        for number, task in enumerate(tasks, start=1):
            runs.append(rehearse(task, model, profile))
            if number % 20 == 0:
                print(f"{number} tasks", file=sys.stderr, flush=True)  # noqa: T201
    wrong = [run for run in runs if not run.is_right]
    for run in wrong[: options.show]:
        print(f"{run.task.category} | {run.task.question}")  # noqa: T201
        for step in run.steps:
            sureness = step.confidence and f"{step.confidence.surprisal / NAT:.2f}"
            print(f"    {step.text!r} right={step.is_right} surprisal={sureness}")  # noqa: T201
        print(f"    meant {[expect(s) for s in run.task.steps]}")  # noqa: T201
    for name, figure in summarize(runs).items():
        print(f"{name:40}{figure}")  # noqa: T201
    if options.json:
        options.json.write_text(json.dumps(list(map(_to_form, runs)), indent=1) + "\n")
    return 0


def _to_form(run: Rehearsal) -> dict[str, object]:
    acting = {tool.name for tool in run.task.tools if tool.is_action}
    return {
        "category": run.task.category,
        "kind": run.task.kind,
        "question": run.task.question,
        "isRight": run.is_right,
        "acted": run.acted,
        "wanted": bool(run.task.actions),
        "answer": run.answer,
        "steps": [
            {
                "text": step.text,
                "tool": step.tool,
                "acts": step.tool in acting,
                "isRight": step.is_right,
                "isDecided": step.is_decided,
                "surprisal": step.confidence and step.confidence.surprisal,
            }
            for step in run.steps
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
