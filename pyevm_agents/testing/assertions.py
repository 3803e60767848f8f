"""What an agent is expected to have done, as a sentence.

    assert_agent(receipt).used("DeployTool").with_args(amount=10).then_answered("done")

`used` and `answered` look for a step anywhere, what begins with `then_` at the same agent's next
one. Each returns the sentence so far, so it can be said on. What does not hold is an
`AssertionError` that shows every step, with a mark at those that it is about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NoReturn, TypeAlias

from pyevm_agents.display import pluralize
from pyevm_agents.errors import ConfigError
from pyevm_agents.testing.gas_snapshot import compute_cost
from pyevm_agents.testing.inputs import require_tool_name, require_whole_number
from pyevm_agents.testing.matching import (
    describe_action,
    describe_argument_differences,
    describe_text_difference,
    find_run,
    format_expected,
    format_marks,
    is_text,
    normalize_address,
)
from pyevm_agents.testing.reports import format_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyevm_agents.agents.trace import AgentStep
    from pyevm_agents.testing.chain import AgentChain
    from pyevm_agents.testing.matching import Expected, ExpectedText, Subject
    from pyevm_agents.testing.run_log import AgentRun

Part: TypeAlias = Literal["gas", "evm", "prompt", "output"]
"""What gas was paid for: all of it, or one part."""

SHOWN_RUN = "agent_run"
"""Attribute of an AssertionError whose message shows all of a run: that run."""

__unittest = True
"""Tells unittest to leave this module's lines out of a failed test's, as pytest is told in each."""

START = -1
"""The place before the first step."""


def assert_agent(subject: Subject, chain: AgentChain | None = None) -> AgentAssertion:
    """Begin a sentence about what agents did in a transaction.

    Input:  its receipt, as web3.py has it, or its hash, or its steps; the chain that holds it, None
            to look in all that are open.
    Raises: ConfigError: no chain has the transaction. AssertionError: no agent took a step in it,
            and it didn't revert.
    """
    __tracebackhide__ = True
    run = find_run(subject, chain)
    if not run.steps and run.failure is None:
        raise AssertionError("no agent took a step in this transaction")
    return AgentAssertion(run=run, scope=tuple(range(len(run.steps))))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAssertion:
    """What was found to be true so far, and where in the run that leaves off.

    Every method raises an AssertionError where what it says does not hold.
    """

    run: AgentRun
    scope: tuple[int, ...]
    """Indices of the steps that it is about: all agents' steps, or those of one."""

    places: tuple[int, ...] = (START,)
    """Indices of the steps that fit so far: a tool may have been used more than once."""

    calls: tuple[str, ...] = ()
    """What was said so far, as it is written."""

    # -- which agent -- #

    def of(self, agent: object) -> AgentAssertion:
        """Speak of one agent alone, from its first step on: its address or contract."""
        __tracebackhide__ = True
        address = normalize_address(agent)
        if address is None:
            raise ConfigError(f"{agent!r} is no address: give 0x and 40 digits, or a contract")
        agents = ["0x" + step.agent.hex() for step in self.run.steps]
        scope = tuple(i for i, step_agent in enumerate(agents) if step_agent == address)
        call = f"of({address})"
        if not scope:
            took = ", ".join(dict.fromkeys(agents)) or "none"
            self._fail(call, f"this agent took no step; those who did: {took}")
        return replace(self, scope=scope, places=(START,), calls=(*self.calls, call))

    # -- tools -- #

    def used(self, tool: str) -> AgentAssertion:
        """Expect that a tool was used, at any step."""
        __tracebackhide__ = True
        call = f"used({require_tool_name('used(…)', tool)!r})"
        places = [i for i in self.scope if self._step(i).action == tool]
        if not places:
            self._fail(call, f"{tool} was not used; {self._describe_tools()}")
        return self._extend(call, places)

    def then_used(self, tool: str) -> AgentAssertion:
        """Expect that the same agent's next step used a tool; at the beginning, the first step."""
        __tracebackhide__ = True
        call = f"then_used({require_tool_name('then_used(…)', tool)!r})"
        expected = f"the use of {tool} was expected here"
        return self._advance(call, lambda step: step.action == tool, expected)

    def later_used(self, tool: str) -> AgentAssertion:
        """Expect that a tool was used at any later step."""
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
        """Expect that none of these tools was used at any step, by nested agents neither."""
        __tracebackhide__ = True
        if not tools:
            raise ConfigError("did_not_use() names no tool: in_steps, answered say what was done")
        named = [require_tool_name("did_not_use(…)", tool) for tool in tools]
        call = f"did_not_use({', '.join(map(repr, named))})"
        used = [i for i in self.scope if self._step(i).action in tools]
        if used:
            marks = {i: f"{self._step(i).action} was used" for i in used}
            self._fail(call, format_marks(marks), marks)
        return self._extend(call, self.places)

    def with_args(self, values: Mapping[str, Expected] = {}, /, **more: Expected) -> AgentAssertion:
        """Expect arguments of the tool, by name; those that are not named may be anything.

        A value is an integer, a truth value, a text, a list; an address as text in any case, bytes
        or a contract; a pattern, or a function that says whether it is right.
        """
        __tracebackhide__ = True
        if not isinstance(values, Mapping):
            raise ConfigError(f"with_args({values!r}): arguments go by name, as amount={values!r}")
        wanted = {**values, **more}
        arguments = ", ".join(f"{name}={format_expected(value)}" for name, value in wanted.items())
        uses = self._require_uses("with_args")
        differences = {
            place: describe_argument_differences(wanted, step) for place, step in uses.items()
        }
        return self._keep_matching(f"with_args({arguments})", differences)

    def observed(self, text: ExpectedText) -> AgentAssertion:
        """Expect what the tool told its agent."""
        __tracebackhide__ = True
        uses = self._require_uses("observed")
        differences = {
            place: describe_text_difference("it observed", text, step.observation)
            for place, step in uses.items()
        }
        return self._keep_matching(f"observed({format_expected(text)})", differences)

    def tool_reverted(self) -> AgentAssertion:
        """Expect that the tool reverted."""
        __tracebackhide__ = True
        seen = {
            place: step.observation for place, step in self._require_uses("tool_reverted").items()
        }
        differences = {
            place: None if observation is None else f"it told {observation!r}"
            for place, observation in seen.items()
        }
        return self._keep_matching("tool_reverted()", differences)

    def thought(self, text: ExpectedText) -> AgentAssertion:
        """Expect what the agent thought at the step."""
        __tracebackhide__ = True
        if START in self.places:
            raise ConfigError("thought(…) is about a step: begin with used(…) or answered(…)")
        thoughts = {place: self._step(place).thought for place in self.places}
        differences = {
            place: describe_text_difference("it thought", text, words)
            for place, words in thoughts.items()
        }
        return self._keep_matching(f"thought({format_expected(text)})", differences)

    # -- answers -- #

    def answered(self, *text: ExpectedText) -> AgentAssertion:
        """Expect the final answer of the outermost agent, or of the one that `of` names.

        Input: what it is, anything where nothing is said.
        """
        __tracebackhide__ = True
        call, ends = f"answered({', '.join(map(format_expected, text))})", self._find_answers()
        wanted = _require_single_text(text, call)
        if not ends:
            marks = dict.fromkeys(self.scope[-1:], "its last step")
            self._fail(call, "it gave no final answer", marks)
        return self._keep_matching(call, self._compare_answers(wanted, ends))

    def then_answered(self, *text: ExpectedText) -> AgentAssertion:
        """Expect that the same agent's next step is its final answer; see `answered`."""
        __tracebackhide__ = True
        call = f"then_answered({', '.join(map(format_expected, text))})"
        wanted = _require_single_text(text, call)
        expected = "the final answer was expected here"
        after = self._advance(call, lambda step: step.answer is not None, expected)
        return self._keep_matching(call, self._compare_answers(wanted, after.places))

    def did_not_answer(self) -> AgentAssertion:
        """Expect that the outermost agent, or the one that `of` names, gave no final answer."""
        __tracebackhide__ = True
        ends = dict.fromkeys(self._find_answers(), "a final answer")
        if ends:
            self._fail("did_not_answer()", "it gave a final answer", ends)
        return self._extend("did_not_answer()", self.places)

    # -- the run as a whole -- #

    def in_steps(self, count: int | None = None, *, at_most: int | None = None) -> AgentAssertion:
        """Expect a number of steps: of all agents, or of the one that `of` names."""
        __tracebackhide__ = True
        if (count is None) == (at_most is None):
            raise ConfigError("in_steps takes either a number or at_most=…")
        require_whole_number("in_steps(…)", count if at_most is None else at_most)
        steps = len(self.scope)
        call = f"in_steps({count if at_most is None else f'at_most={at_most}'})"
        if steps != count if at_most is None else steps > at_most:
            self._fail(call, f"it took {pluralize(steps, 'step')}")
        return self._extend(call, self.places)

    def cost(self, part: Part = "gas", *, less_than: int) -> AgentAssertion:
        """Expect that gas is below a limit: the transaction's, or what was paid for one part.

        Gas of prompts and of output is that of the agent which `of` names, where one is named.
        """
        __tracebackhide__ = True
        require_whole_number("cost(less_than=…)", less_than)
        costs = self.run.cost
        if part in {"prompt", "output"}:
            costs = compute_cost([self._step(i) for i in self.scope], 0)
        if costs is None:
            raise ConfigError(
                f"the {part} gas of these steps is not known: give assert_agent the transaction's "
                "receipt or hash"
            )
        gas = {"gas": costs.gas, "evm": costs.evm, "prompt": costs.prompt, "output": costs.output}
        if part not in gas:
            raise ConfigError(f"no cost of {part!r}: gas has the parts {', '.join(gas)}")
        name, cost = ("gas" if part == "gas" else f"{part} gas"), gas[part]
        call = f"cost({'' if part == 'gas' else f'{part!r}, '}less_than={less_than:_})"
        if cost >= less_than:
            self._fail(call, f"it cost {cost:,} {name}: {cost - less_than + 1:,} too much")
        return self._extend(call, self.places)

    def succeeded(self) -> AgentAssertion:
        """Expect that the transaction did not revert."""
        __tracebackhide__ = True
        if self.run.failure is not None:
            self._fail("succeeded()", f"it reverted: {self.run.failure}")
        return self._extend("succeeded()", self.places)

    def failed(self, reason: ExpectedText | None = None) -> AgentAssertion:
        """Expect that the transaction reverted, for a reason as the report says it."""
        __tracebackhide__ = True
        call, failure = (
            f"failed({'' if reason is None else format_expected(reason)})",
            self.run.failure,
        )
        if failure is None:
            self._fail(call, "it succeeded")
        if reason is not None and not is_text(reason, failure):
            self._fail(call, f"it reverted for another reason: {failure}")
        return self._extend(call, self.places)

    # -- inside -- #

    def _step(self, index: int) -> AgentStep:
        return self.run.steps[index]

    def _extend(self, call: str, places: Iterable[int]) -> AgentAssertion:
        """Return the sentence said on, at other places."""
        return replace(self, places=tuple(places), calls=(*self.calls, call))

    def _fail(self, call: str, but: str, marks: Mapping[int, str] | None = None) -> NoReturn:
        """Say what does not hold, and mark the steps that it is about."""
        __tracebackhide__ = True
        claim = "".join(f".{part}" for part in (*self.calls, call))
        trace = format_run(self.run, marks)
        # By its plain name, as pytest tells it; what it shows, a report need not show again.
        untrue = AssertionError(f"assert_agent(…){claim} does not hold:\n{but}\n\n{trace}")
        setattr(untrue, SHOWN_RUN, self.run)
        raise untrue

    def _keep_matching(self, call: str, differences: Mapping[int, str | None]) -> AgentAssertion:
        """Go on at the places without a difference; fail where each has one."""
        __tracebackhide__ = True
        fitting = [place for place, difference in differences.items() if difference is None]
        if not fitting:
            marks = {place: str(difference) for place, difference in differences.items()}
            self._fail(call, format_marks(marks), marks)
        return self._extend(call, fitting)

    def _advance(
        self, call: str, is_right: Callable[[AgentStep], bool], expected: str
    ) -> AgentAssertion:
        """Go on at the next steps of the agents of the places, where they are right."""
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
            but += [f"at step {i + 1} it {describe_action(self._step(i))}" for i in wrong]
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
                f"{call}(…) is about the use of a tool: say used(…) or then_used(…) before it"
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
        return {
            i: describe_text_difference("it answered", text, self._step(i).answer) for i in ends
        }

    def _describe_tools(self) -> str:
        """Say which tools were used."""
        names = [str(self._step(i).action) for i in self.scope if self._step(i).answer is None]
        what = ", ".join(dict.fromkeys(names)) or "no tool"
        return f"this agent used {what}" if self._is_narrowed else f"what was used: {what}"

    @property
    def _is_narrowed(self) -> bool:
        return len(self.scope) < len(self.run.steps)


def _require_single_text(texts: tuple[ExpectedText, ...], call: str) -> ExpectedText | None:
    """Return the text that is expected; None where none is.

    Raises: ConfigError: there are several, or it is None.
    """
    if len(texts) > 1 or None in texts:
        raise ConfigError(f"{call}: want one text, a pattern or a function, or nothing")
    return texts[0] if texts else None
