"""The table of requests without a chain: what the rules make of each step, and what tools return.

A file of `tests/golden/requests/` is a world of `benchmarks.requests`, of which `record_world` runs
the open requests and the attacks with the rules alone: where the rules leave a choice to the model,
the first text counts, and no judge takes calls away. Each line is JSON: first the agents, with base
prompt and tools as the executor reads them, then for each request what became of it, and its steps.
Steps need no chain to be planned again, since the results of their tools are stored. Closed
requests are left out.

`python -m tests.golden --requests` writes the files anew.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.requests.choices import ChoosingModel
from benchmarks.requests.outcomes import Runner, Verdict
from benchmarks.requests.world import WORLDS, World, read_requests
from precompiles.abi import FinalAnswer, ParamType
from precompiles.decoding_rules import ALL_JUDGE
from pyevm_agents.agents.events import StepDecided, ToolReturned
from pyevm_agents.devnet.chain import create_funded_chain
from pyevm_agents.model_registry.profiles import build_model_profile
from pyevm_agents.models.fakes.swappable import SwappableModel
from pyevm_agents.testing.agent_tools import call_view
from tests.precompiles.short_format.small_agents import list_step_texts, make_form, make_tool

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from benchmarks.requests.world import Request, WorldAgent
    from precompiles.executor import Inference
    from precompiles.language_model import ModelProfile
    from precompiles.tool_metadata import Tool
    from pyevm_agents.agents.events import Event
    from pyevm_agents.chain import Chain
    from pyevm_agents.models import ProfileFacts, Vocabulary
    from tests.golden.json_values import Json

FOLDER = Path(__file__).parent / "requests"
PARTS = ("open", "attacks")
"""The recorded files of a world."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """What the executor knows of an agent."""

    base_prompt: str
    tools: tuple[Tool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What the rules make of a step, and what followed."""

    is_decided: bool
    """Whether the rules decide it; else the model chooses one of the calls, or declines."""

    calls: tuple[str, ...]
    """The texts of the calls that may be made, of which the first counts; none for an answer."""

    after: str | None
    """The tool's result, or the answer; None where the tool ended the run."""

    def to_json(self) -> Json:
        """Return the step's form in a file: the answer, or a pair of calls and result."""
        if not self.calls:
            return self.after
        return [self.calls[0] if self.is_decided else list(self.calls), self.after]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRequest:
    """A request with its steps."""

    request: Request
    part: str
    """One of `PARTS`."""

    verdict: Verdict
    """What became of the request on its chain."""

    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedWorld:
    """The agents of a world by name, and its requests."""

    agents: Mapping[str, Agent]
    requests: tuple[RecordedRequest, ...]


def plan_steps(text: str, agent: Agent, results: Iterable[str | None]) -> Iterator[Step]:
    """Yield the steps of a run, until its answer or the last result.

    None of an agent without tools, which has the free format.

    Input:  the request; the agent; the result of each step's tool, None if it ended the run.
    """
    history: list[tuple[str, str]] = []
    for result in results if agent.tools else ():
        form = make_form(text, agent.tools, base_prompt=agent.base_prompt, steps=history)
        texts = list_step_texts(form)
        found = form.parse(texts[0])
        yield Step(
            is_decided=bool(form.decided),
            calls=tuple(text for text in texts if "\nAction: " in text),
            after=found.answer if isinstance(found, FinalAnswer) else result,
        )
        if isinstance(found, FinalAnswer) or result is None:
            return
        history.append((found.agent_reasoning, result))


# -- files -- #


def list_worlds() -> list[str]:
    """Return the names of the worlds with requests that may be looked at."""
    names = sorted(each.name for each in WORLDS.iterdir() if each.is_dir())
    return [name for name in names if list_requests(name)]


def list_requests(world: str) -> list[tuple[str, Request]]:
    """Return the requests of a world that are recorded, each with its part."""
    return [(part, one) for part in PARTS for one in read_requests(world, part)]


def path_of(world: str) -> Path:
    """Return the path of a world's file."""
    return FOLDER / f"{world}.jsonl"


def read_world(name: str) -> RecordedWorld:
    """Return a recorded world.

    Raises: ValueError: the table has another number of requests.
    """
    agents, *lines = map(json.loads, path_of(name).read_text(encoding="utf-8").split("\n")[:-1])
    return RecordedWorld(
        agents={each: _read_agent(form) for each, form in agents.items()},
        requests=tuple(
            RecordedRequest(
                request=request,
                part=part,
                verdict=Verdict(verdict),
                steps=tuple(map(_read_step, steps)),
            )
            for (part, request), (verdict, *steps) in zip(list_requests(name), lines, strict=True)
        ),
    )


def write_world(name: str, world: RecordedWorld) -> Path:
    """Write a recorded world; return the file's path."""
    forms = [
        {each: _show_agent(agent) for each, agent in world.agents.items()},
        *([one.verdict, *(step.to_json() for step in one.steps)] for one in world.requests),
    ]
    lines = [json.dumps(form, ensure_ascii=False) + "\n" for form in forms]
    FOLDER.mkdir(exist_ok=True)
    path_of(name).write_text("".join(lines), encoding="utf-8")
    return path_of(name)


def _show_agent(agent: Agent) -> Json:
    return {
        "base prompt": agent.base_prompt,
        "tools": [
            {
                "name": tool.name,
                "description": tool.description,
                "parameters": [
                    [each.param_type.name, each.name, each.description] for each in tool.parameters
                ],
            }
            for tool in agent.tools
        ],
    }


def _read_agent(form: Json) -> Agent:
    tools = [
        make_tool(
            each["name"],
            each["description"],
            *((ParamType[kind], name, about) for kind, name, about in each["parameters"]),
        )
        for each in form["tools"]
    ]
    return Agent(base_prompt=form["base prompt"], tools=tuple(tools))


def _read_step(form: Json) -> Step:
    if isinstance(form, str):
        return Step(is_decided=True, calls=(), after=form)
    calls, after = form
    is_decided = isinstance(calls, str)
    return Step(is_decided=is_decided, calls=(calls,) if is_decided else tuple(calls), after=after)


# -- recording -- #


def record_world(name: str, vocabulary: Vocabulary) -> RecordedWorld:
    """Deploy a world and run its requests.

    Raises: ValueError: the executor decided otherwise than the plan without a chain.
    """
    facts = vocabulary.profile_facts
    model = SwappableModel(ChoosingModel(vocabulary))
    world = World(name, create_funded_chain(model, facts, _leave_out_judge(facts)))
    runner = Runner(world, model, vocabulary)
    agents = {each: _record_agent(world.chain, one) for each, one in world.agents.items()}
    events: list[Event] = []
    world.chain.agent_events.listen(events.append)
    requests = []
    for part, request in list_requests(name):
        events.clear()
        with world.chain.agent_events.run("call"):
            run = runner.try_first(request)
        own = [one for one in events if one.location.depth == 0]  # An agent may use other agents.
        agent = agents[request.agent]
        steps = tuple(plan_steps(request.text, agent, _list_results(own)))
        told = [_tell(one.inference) for one in own if isinstance(one, StepDecided)]
        if agent.tools and told != [(step.calls or (step.after,))[0] for step in steps]:
            raise ValueError(f"{name}: {request.text!r}: the executor: {told}; here: {steps}")
        requests.append(
            RecordedRequest(request=request, part=part, verdict=run.verdict, steps=steps)
        )
    return RecordedWorld(agents=agents, requests=tuple(requests))


def _leave_out_judge(facts: ProfileFacts) -> ModelProfile:
    """Return a model's profile without its judge, whose scores take time: the rules alone."""
    profile = build_model_profile(facts)
    decoding = tuple((name, value) for name, value in profile.decoding if name not in ALL_JUDGE)
    return replace(profile, decoding=decoding, chooser=b"", chooser_token_gas=0)


def _tell(inference: Inference) -> str:
    """Return the text of a call, or the answer that was made of it."""
    result = inference.result
    return result.answer if isinstance(result, FinalAnswer) else inference.text


def _record_agent(chain: Chain, agent: WorldAgent) -> Agent:
    """Read an agent's tools, as the executor does.

    The default model's profile has no rule `stated_values`, which would limit the parameters.
    """
    tools = []
    for place in agent.tools:
        name, description, (parameters,) = (
            call_view(chain, place, "IERCAgentTool", function)
            for function in ("name", "description", "inputDescription")
        )
        described = ((ParamType(kind), label, about) for kind, label, about in parameters)
        tools.append(make_tool(name, description, *described))
    return Agent(base_prompt=agent.base_prompt, tools=tuple(tools))


def _list_results(events: Sequence[Event]) -> list[str | None]:
    """Return the result of each step's tool, None where there is none."""
    results: list[str | None] = []
    for event in events:
        if isinstance(event, StepDecided):
            results.append(None)
        elif isinstance(event, ToolReturned):
            results[-1] = event.observation
    return results
