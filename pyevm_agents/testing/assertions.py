"""Assertions about the steps of agents, in a fluent style.

    assert_agent(receipt).used("DeployTool").with_args(amount=10).then_answered("done")

`used` and `answered` search all steps; `then_used` and `then_answered` check the same agent's next
step. Each method returns the assertion, so calls can be chained. An assertion that fails raises an
`AssertionError` that shows every step and marks those concerned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal, NoReturn, TypeAlias

from precompiles.outcome import is_done
from pyevm_agents.display import pluralize
from pyevm_agents.errors import ConfigError
from pyevm_agents.testing.agent_tools import has_prompt, is_tool_offered, list_offered_tools
from pyevm_agents.testing.gas_snapshot import compute_cost
from pyevm_agents.testing.inputs import require_tool_name, require_whole_number
from pyevm_agents.testing.matching import (
    describe_action,
    describe_argument_differences,
    describe_text_difference,
    format_expected,
    format_marks,
    is_text,
    normalize_address,
)
from pyevm_agents.testing.reports import format_address, format_run
from pyevm_agents.testing.run_log import find_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyevm_agents.agents.trace import AgentStep
    from pyevm_agents.testing.matching import Expected, ExpectedText
    from pyevm_agents.testing.run_log import AgentRun, RunSource, Subject

Part: TypeAlias = Literal["gas", "evm", "prompt", "output"]
"""A part of the gas, or all of it."""

SHOWN_RUN = "agent_run"
"""Attribute of an AssertionError for the run that its message shows."""

__unittest = True
"""Makes unittest leave this module's frames out of tracebacks."""

START = -1
"""The place before the first step."""

ANSWER_LINE = "\nFinal Answer: "
"""The text before an answer in a generation. Source: `precompiles.react`."""


def assert_agent(subject: Subject, chain: RunSource | None = None) -> AgentAssertion:
    """Return an assertion about the agents of a transaction.

    Input:  the transaction's receipt as returned by web3.py, a hash, or agent steps; the
            `AgentChain` that executed it, None to search all open chains of this process.
    Raises: ConfigError: no open chain has the transaction; or several do, agents did something else
            on each, and the receipt's block does not distinguish the chains. AssertionError: no
            agent took a step in the transaction, although it succeeded.
    """
    __tracebackhide__ = True
    run = find_run(subject, chain)
    if not run.steps and run.failure is None:
        raise AssertionError("no agent took a step in this transaction")
    return AgentAssertion(run=run, scope=tuple(range(len(run.steps))))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAssertion:
    """The assertions that passed until now, and the steps for the next one.

    Every method raises an AssertionError if the assertion fails.
    """

    run: AgentRun
    scope: tuple[int, ...]
    """Indices of the steps that are searched: those of all agents, or of one."""

    places: tuple[int, ...] = (START,)
    """Indices of the steps that match so far: a tool may have been used more than once."""

    calls: tuple[str, ...] = ()
    """The method calls so far, for messages."""

    # -- which agent -- #

    def of(self, agent: object) -> AgentAssertion:
        """Restrict the assertion to the steps of one agent, from the first step on.

        Input:  the agent's address, the contract, or the name under which the test kit deployed the
            agent.
        Raises: ConfigError: none of these, or several agents were deployed under the name.
        """
        __tracebackhide__ = True
        address = normalize_address(agent)
        call = f"of({address or repr(agent)})"
        agents = ["0x" + step.agent.hex() for step in self.run.steps]
        if address is None:
            address = self._find_agent(agent, agents)
        scope = tuple(i for i, step_agent in enumerate(agents) if step_agent == address)
        if not scope:
            active = ", ".join(self._format_agent(other) for other in dict.fromkeys(agents))
            self._fail(call, f"this agent took no step; agents with steps: {active or 'none'}")
        return replace(self, scope=scope, places=(START,), calls=(*self.calls, call))

    def _find_agent(self, agent: object, agents: Sequence[str]) -> str | None:
        """Return the address of an agent that was deployed under a name; None without a step.

        Raises: ConfigError: no contract has the name, or several agents do.
        """
        names = {"0x" + address.hex(): name for address, name in self.run.names.items()}
        if agent not in names.values():
            deployed = ", ".join(dict.fromkeys(names.values())) or "none"
            raise ConfigError(
                f"{agent!r} is not an agent: give an address, a contract, or the name under which "
                f"it was deployed; deployed contracts: {deployed}"
            )
        matching = [other for other in dict.fromkeys(agents) if names.get(other) == agent]
        if len(matching) > 1:
            raise ConfigError(
                f"{len(matching)} agents with steps were deployed as {agent!r}: "
                f"{', '.join(matching)}; give the address or the contract"
            )
        return matching[0] if matching else None

    def _format_agent(self, address: str) -> str:
        return format_address(bytes.fromhex(address[2:]), self.run.names)

    # -- tools -- #

    def used(self, tool: str) -> AgentAssertion:
        """Assert that some step used a tool."""
        __tracebackhide__ = True
        call = f"used({require_tool_name('used(…)', tool)!r})"
        places = [i for i in self.scope if self._step(i).action == tool]
        if not places:
            self._fail(call, f"{tool} was not used; {self._describe_tools()}")
        return self._extend(call, places)

    def then_used(self, tool: str) -> AgentAssertion:
        """Assert that the agent's next step used a tool; as the first call, the first step."""
        __tracebackhide__ = True
        call = f"then_used({require_tool_name('then_used(…)', tool)!r})"
        expected = f"the use of {tool} was expected here"
        return self._advance(call, lambda step: step.action == tool, expected)

    def later_used(self, tool: str) -> AgentAssertion:
        """Assert that some later step used a tool."""
        __tracebackhide__ = True
        call = f"later_used({require_tool_name('later_used(…)', tool)!r})"
        first = min(self.places)
        places = [i for i in self.scope if i > first and self._step(i).action == tool]
        if not places:
            self._fail(
                call, f"{tool} was not used after step {first + 1}; {self._describe_tools()}"
            )
        return self._extend(call, places)

    def did_not_use(self, *tools: str) -> AgentAssertion:
        """Assert that no step used one of these tools, steps of nested agents included.

        Each name must be that of a tool which an agent of the transaction was offered, or has: a
        prompt of the run lists it, or `getTools` of an agent, of one of the agent's tools, and so
        on inward. A run without any prompt is exempt: a run that failed before the first step, or
        consists of steps without prompts.

        Raises: ConfigError: no tool of the run's agents has the name.
        """
        __tracebackhide__ = True
        if not tools:
            raise ConfigError("did_not_use() needs the name of a tool, such as did_not_use('Pay')")
        named = [require_tool_name("did_not_use(…)", tool) for tool in tools]
        call = f"did_not_use({', '.join(map(repr, named))})"
        used = [i for i in self.scope if self._step(i).action in tools]
        if used:
            marks = {i: f"{self._step(i).action} was used" for i in used}
            self._fail(call, format_marks(marks), marks)
        self._require_offered(named)
        return self._extend(call, self.places)

    def _require_offered(self, names: Sequence[str]) -> None:
        steps, source = self.run.steps, self.run.source
        unknown = [name for name in names if not is_tool_offered(name, steps)]
        if not unknown or not has_prompt(steps):
            return
        agents = dict.fromkeys(step.agent for step in steps)
        nested = () if source is None else source.list_agent_tools(agents)
        for name in unknown:
            if name not in nested:
                known = [*dict.fromkeys((*list_offered_tools(steps), *nested))]
                near = get_close_matches(name, known, 1)
                hint = f" Did you mean {near[0]!r}?" if near else ""
                raise ConfigError(
                    f"did_not_use({name!r}): no agent of the transaction has a tool {name!r}.{hint}"
                    f" The agents' tools are: {', '.join(known) or 'none'}"
                )

    def with_args(self, values: Mapping[str, Expected] = {}, /, **more: Expected) -> AgentAssertion:
        """Assert arguments of the tool, by name; arguments that are not named are not checked.

        Input: for each argument an int, bool, text or list; an address as text in any case, as
               bytes or as a contract; a compiled pattern, or a predicate.
        """
        __tracebackhide__ = True
        if not isinstance(values, Mapping):
            raise ConfigError(f"with_args({values!r}): give arguments by name: amount={values!r}")
        wanted = {**values, **more}
        arguments = ", ".join(f"{name}={format_expected(value)}" for name, value in wanted.items())
        uses = self._require_uses("with_args")
        differences = {
            place: describe_argument_differences(wanted, step) for place, step in uses.items()
        }
        return self._keep_matching(f"with_args({arguments})", differences)

    def observed(self, text: ExpectedText) -> AgentAssertion:
        """Assert the tool's answer to the agent: a whole text, a pattern or a predicate."""
        __tracebackhide__ = True
        uses = self._require_uses("observed")
        differences = {
            place: describe_text_difference("the observation was", text, step.observation)
            for place, step in uses.items()
        }
        return self._keep_matching(f"observed({format_expected(text)})", differences)

    def tool_reverted(self) -> AgentAssertion:
        """Assert that the tool reverted."""
        __tracebackhide__ = True
        seen = {
            place: step.observation for place, step in self._require_uses("tool_reverted").items()
        }
        differences = {
            place: None if observation is None else f"the tool returned {observation!r}"
            for place, observation in seen.items()
        }
        return self._keep_matching("tool_reverted()", differences)

    def thought(self, text: ExpectedText) -> AgentAssertion:
        """Assert the thought of the step: a whole text, a pattern or a predicate."""
        __tracebackhide__ = True
        if START in self.places:
            raise ConfigError("thought(…) needs a step: call used(…) or answered(…) before it")
        thoughts = {place: self._step(place).thought for place in self.places}
        differences = {
            place: describe_text_difference("the thought was", text, thought)
            for place, thought in thoughts.items()
        }
        return self._keep_matching(f"thought({format_expected(text)})", differences)

    # -- answers -- #

    def answered(self, *text: ExpectedText) -> AgentAssertion:
        """Assert the final answer of the outermost agent, or of the agent that `of` selected.

        The executor replaces names that the base prompt gives to addresses (`Bob = 0x…`) by these
        addresses: an answer that was scripted as `Sent to Bob.` contains Bob's address.

        Input: a whole text, a pattern or a predicate; without one, any answer passes.
        """
        __tracebackhide__ = True
        call, ends = f"answered({', '.join(map(format_expected, text))})", self._find_answers()
        wanted = _require_single_text(text, call)
        if not ends:
            marks = dict.fromkeys(self.scope[-1:], "its last step")
            self._fail(call, "there is no final answer", marks)
        return self._keep_matching(call, self._compare_answers(wanted, ends))

    def then_answered(self, *text: ExpectedText) -> AgentAssertion:
        """Assert that the same agent's next step is the final answer; see `answered`."""
        __tracebackhide__ = True
        call = f"then_answered({', '.join(map(format_expected, text))})"
        wanted = _require_single_text(text, call)
        expected = "the final answer was expected here"
        after = self._advance(call, lambda step: step.answer is not None, expected)
        return self._keep_matching(call, self._compare_answers(wanted, after.places))

    def did_not_answer(self) -> AgentAssertion:
        """Assert that the outermost agent, or the one that `of` selected, gave no final answer."""
        __tracebackhide__ = True
        ends = dict.fromkeys(self._find_answers(), "a final answer")
        if ends:
            self._fail("did_not_answer()", "there is a final answer", ends)
        return self._extend("did_not_answer()", self.places)

    # -- the run as a whole -- #

    def in_steps(self, count: int | None = None, *, at_most: int | None = None) -> AgentAssertion:
        """Assert the number of steps: of all agents, or of the agent that `of` selected."""
        __tracebackhide__ = True
        if (count is None) == (at_most is None):
            raise ConfigError("in_steps takes either a number or at_most=…, not both")
        require_whole_number("in_steps(…)", count if at_most is None else at_most)
        steps = len(self.scope)
        call = f"in_steps({count if at_most is None else f'at_most={at_most}'})"
        if steps != count if at_most is None else steps > at_most:
            self._fail(call, f"there are {pluralize(steps, 'step')}")
        return self._extend(call, self.places)

    def cost(self, part: Part = "gas", *, less_than: int) -> AgentAssertion:
        """Assert that gas is below a limit: the transaction's, or that of one part.

        Input: the part: `gas` (all), `evm`, `prompt` or `output`; the limit, exclusive. After
               `of`, prompt and output gas are those of the selected agent.
        """
        __tracebackhide__ = True
        require_whole_number("cost(less_than=…)", less_than)
        costs = self.run.cost
        if part in {"prompt", "output"}:
            costs = compute_cost([self._step(i) for i in self.scope], 0)
        if costs is None:
            raise ConfigError(
                f"the {part} gas of these steps is unknown: give assert_agent their "
                "transaction's receipt or hash"
            )
        gas = {"gas": costs.gas, "evm": costs.evm, "prompt": costs.prompt, "output": costs.output}
        if part not in gas:
            raise ConfigError(f"cost({part!r}): must be one of {', '.join(gas)}")
        name, cost = ("gas" if part == "gas" else f"{part} gas"), gas[part]
        call = f"cost({'' if part == 'gas' else f'{part!r}, '}less_than={less_than:_})"
        if cost >= less_than:
            self._fail(call, f"the cost was {cost:,} {name}: {cost - less_than + 1:,} too much")
        return self._extend(call, self.places)

    def succeeded(self) -> AgentAssertion:
        """Assert that the transaction did not revert or halt."""
        __tracebackhide__ = True
        if self.run.failure is not None:
            self._fail("succeeded()", f"the transaction reverted: {self.run.failure}")
        return self._extend("succeeded()", self.places)

    def failed(self, reason: ExpectedText | None = None) -> AgentAssertion:
        """Assert that the transaction reverted or halted.

        Input: the reason as in the trace: a whole text, a pattern or a predicate; without one, any
               reason passes.
        """
        __tracebackhide__ = True
        call, failure = (
            f"failed({'' if reason is None else format_expected(reason)})",
            self.run.failure,
        )
        if failure is None:
            self._fail(call, "the transaction succeeded")
        if reason is not None and not is_text(reason, failure):
            hint = ""
            if isinstance(reason, str):
                hint = f"; a text is compared as a whole, and `re.compile({reason!r})` searches"
            self._fail(call, f"the transaction reverted for another reason: {failure}{hint}")
        return self._extend(call, self.places)

    def was_done(self) -> AgentAssertion:
        """Assert that the outermost agent, or the one that `of` selected, did the task.

        The transaction succeeded, and the final answer is no refusal, doubt or error:
        `precompiles.outcome`.
        """
        __tracebackhide__ = True
        done = self.succeeded().answered()
        refused = {place: self._step(place).answer or "" for place in done.places}
        marks = {place: "not done" for place, text in refused.items() if not is_done(text)}
        if marks:
            self._fail("was_done()", f"the answer was {refused[min(marks)]!r}", marks)
        return self._extend("was_done()", done.places)

    def was_not_done(self, *text: ExpectedText) -> AgentAssertion:
        """Assert that the agents did not do the task: the run was undone, or refused at once.

        Input: the answer, as a whole text, a pattern or a predicate; without one, any passes.
        """
        __tracebackhide__ = True
        call = f"was_not_done({', '.join(map(format_expected, text))})"
        wanted = _require_single_text(text, call)
        answer = self.run.not_done
        if answer is None:
            said = [self._step(place).answer or "" for place in self._find_answers()]
            answer = next((each for each in said if not is_done(each)), None)
            if answer is None:
                ending = f"the answer was {said[0]!r}" if said else "there is no final answer"
                self._fail(call, self.run.failure or ending)
        if wanted is not None:
            difference = describe_text_difference("the answer was", wanted, answer)
            if difference is not None:
                self._fail(call, difference)
        return self._extend(call, self.places)

    # -- inside -- #

    def _step(self, index: int) -> AgentStep:
        return self.run.steps[index]

    def _extend(self, call: str, places: Iterable[int]) -> AgentAssertion:
        """Return the assertion with one more call, at other places."""
        return replace(self, places=tuple(places), calls=(*self.calls, call))

    def _fail(self, call: str, but: str, marks: Mapping[int, str] | None = None) -> NoReturn:
        """Raise an AssertionError that shows the run and marks the steps concerned."""
        __tracebackhide__ = True
        claim = "".join(f".{part}" for part in (*self.calls, call))
        trace = format_run(self.run, marks)
        error = AssertionError(f"assert_agent(…){claim} does not hold:\n{but}\n\n{trace}")
        setattr(error, SHOWN_RUN, self.run)  # So that a report does not show the run again.
        raise error

    def _keep_matching(self, call: str, differences: Mapping[int, str | None]) -> AgentAssertion:
        """Continue at the places without a difference; fail if every place has one."""
        __tracebackhide__ = True
        fitting = [place for place, difference in differences.items() if difference is None]
        if not fitting:
            marks = {place: str(difference) for place, difference in differences.items()}
            self._fail(call, format_marks(marks), marks)
        return self._extend(call, fitting)

    def _advance(
        self, call: str, is_right: Callable[[AgentStep], bool], expected: str
    ) -> AgentAssertion:
        """Continue at the next step of each place's agent; fail without a match."""
        __tracebackhide__ = True
        nexts = {place: self._find_next_step(place) for place in self.places}
        fitting = [i for i in nexts.values() if i is not None and is_right(self._step(i))]
        if not fitting:
            wrong = [i for i in nexts.values() if i is not None]
            last = [place for place, following in nexts.items() if following is None]
            but = [
                "no agent took a step"
                if place == START
                else f"the agent took no step after step {place + 1}"
                for place in last
            ]
            but += [f"step {i + 1} {describe_action(self._step(i))}" for i in wrong]
            marks = dict.fromkeys(last, "its last step") | dict.fromkeys(wrong, expected)
            marks.pop(START, None)
            self._fail(call, "; ".join(but), marks)
        return self._extend(call, fitting)

    def _find_next_step(self, place: int) -> int | None:
        """Return the index of the same agent's next step in the same run."""
        if place == START:
            return next(iter(self.scope), None)
        here = self._step(place)
        if here.answer is not None:
            return None
        for index in range(place + 1, len(self.run.steps)):
            step = self._step(index)
            if step.depth <= here.depth:
                is_same = (step.depth, step.agent) == (here.depth, here.agent)
                return index if is_same else None
        return None

    def _require_uses(self, call: str) -> dict[int, AgentStep]:
        """Return the steps of the places, all of which used a tool."""
        uses = {place: self._step(place) for place in self.places if place != START}
        if not uses or any(step.action is None for step in uses.values()):
            raise ConfigError(
                f"{call}(…) needs the use of a tool: call used(…) or then_used(…) before it"
            )
        return uses

    def _find_answers(self) -> list[int]:
        depth = min((self._step(i).depth for i in self.scope), default=0)
        ends = [i for i in self.scope if self._step(i).answer is not None]
        return [i for i in ends if self._step(i).depth == depth]

    def _compare_answers(
        self, text: ExpectedText | None, ends: Sequence[int]
    ) -> dict[int, str | None]:
        if text is None:
            return dict.fromkeys(ends)
        return {i: self._compare_answer(text, self._step(i)) for i in ends}

    def _compare_answer(self, text: ExpectedText, step: AgentStep) -> str | None:
        difference = describe_text_difference("the answer was", text, step.answer)
        generated = step.inference.text.partition(ANSWER_LINE)[2]
        if difference is not None and text == generated:
            difference += (
                f"\nthe model generated {text!r}: names that the base prompt gives to addresses "
                "(Bob = 0x…) are replaced by these addresses"
            )
        return difference

    def _describe_tools(self) -> str:
        """Return a phrase on the tools that were used."""
        names = [str(self._step(i).action) for i in self.scope if self._step(i).answer is None]
        used = ", ".join(dict.fromkeys(names)) or "no tool"
        return f"this agent used {used}" if self._is_narrowed else f"tools used: {used}"

    @property
    def _is_narrowed(self) -> bool:
        return len(self.scope) < len(self.run.steps)


def _require_single_text(texts: tuple[ExpectedText, ...], call: str) -> ExpectedText | None:
    """Return the expected text, or None.

    Raises: ConfigError: several texts, or None.
    """
    if len(texts) > 1 or None in texts:
        raise ConfigError(f"{call}: must be one text, one pattern, one predicate, or nothing")
    return texts[0] if texts else None
