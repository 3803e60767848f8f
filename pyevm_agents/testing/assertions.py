"""What an agent is expected to have done, as a sentence.

    assert_agent(receipt).used("DeployTool").with_args(amount=10).then_answered("done")

`used` and `answered` look for a step anywhere, what begins with `then_` at the same agent's next
one. Each returns the sentence so far, so it can be said on. What does not hold is an
`AssertionError` that shows every step, with a mark at those that it is about.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NoReturn, TypeAlias

from pyevm_agents.errors import ConfigError
from pyevm_agents.testing.costs import cost_of
from pyevm_agents.testing.expectations import address_of, is_text, is_value, told
from pyevm_agents.testing.reports import counted, run_text
from pyevm_agents.testing.runs import AgentRun, run_of
from pyevm_agents.trace import AgentStep

if TYPE_CHECKING:
    from pyevm_agents.testing.chain import AgentChain
    from pyevm_agents.testing.expectations import Expected, ExpectedText

Subject: TypeAlias = "Mapping[str, object] | bytes | str | AgentRun | Sequence[AgentStep]"
"""A receipt, a transaction's hash, or what an agent did."""

Part: TypeAlias = Literal["gas", "evm", "prompt", "output"]
"""What gas was paid for: all of it, or one part."""

START = -1
"""Before the first step."""


def assert_agent(subject: Subject, chain: AgentChain | None = None) -> Sentence:
    """Begin a sentence about what agents did in a transaction.

    Input:  its receipt, as web3.py has it, or its hash, or its steps; the chain that holds it, None
            to look in all that are open.
    Raises: ConfigError: no chain has the transaction. AssertionError: no agent took a step in it.
    """
    __tracebackhide__ = True
    run = _run(subject, chain)
    sentence = Sentence(run=run, scope=tuple(range(len(run.steps))))
    if not run.steps:
        sentence.fail("no agent took a step in it")
    return sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """What was found to be true so far, and where in the run that leaves off."""

    run: AgentRun
    scope: tuple[int, ...]
    """Indices of the steps that it is about: all agents' steps, or those of one."""

    is_narrowed: bool = False
    places: tuple[int, ...] = (START,)
    """Indices of the steps that fit so far: a tool may have been used more than once."""

    said: tuple[str, ...] = field(default=())
    """The calls so far, as they are written."""

    # -- which agent -- #

    def of(self, agent: object) -> Sentence:
        """Speak of one agent alone, from its first step: its address or contract."""
        __tracebackhide__ = True
        address = address_of(agent)
        if address is None:
            raise ConfigError(f"{agent!r} is no address: give 0x and 40 digits, or a contract")
        steps = self.run.steps
        scope = tuple(i for i, step in enumerate(steps) if "0x" + step.agent.hex() == address)
        sentence = self._saying(f"of({address})")
        if not scope:
            agents = sorted({"0x" + step.agent.hex() for step in steps})
            sentence.fail(f"this agent took no step; those who did: {', '.join(agents)}")
        return replace(sentence, scope=scope, is_narrowed=True, places=(START,))

    # -- tools -- #

    def used(self, tool: str) -> Sentence:
        """Expect that a tool was used, at any step."""
        __tracebackhide__ = True
        sentence = self._saying(f"used({tool!r})")
        places = [i for i in self.scope if self._step(i).action == tool]
        if not places:
            sentence.fail(f"it was not used; {self._tools()}")
        return sentence._at(places)

    def then_used(self, tool: str) -> Sentence:
        """Expect that the same agent's next step used a tool; at the beginning, the first step."""
        __tracebackhide__ = True
        sentence = self._saying(f"then_used({tool!r})")
        return sentence._next(
            lambda step: step.action == tool, f"the use of {tool} was expected here"
        )

    def later_used(self, tool: str) -> Sentence:
        """Expect that a tool was used at any later step."""
        __tracebackhide__ = True
        sentence, first = self._saying(f"later_used({tool!r})"), min(self.places)
        places = [i for i in self.scope if i > first and self._step(i).action == tool]
        if not places:
            sentence.fail(f"it was not used after step {first + 1}; {self._tools()}", self.places)
        return sentence._at(places)

    def with_args(self, values: Mapping[str, Expected] = {}, /, **more: Expected) -> Sentence:  # noqa: B006 - is not changed
        """Expect arguments of the tool, by name; those that are not named may be anything.

        A value is an integer, a truth value, a text, a list; an address as text in any case, bytes
        or a contract; a pattern, or a function that says whether it is right.
        """
        __tracebackhide__ = True
        wanted = {**values, **more}
        spoken = ", ".join(f"{name}={told(value)}" for name, value in wanted.items())
        sentence = self._saying(f"with_args({spoken})")
        found = {place: _differences(wanted, self._tool_step(place)) for place in self.places}
        return sentence._where(found)

    def did_not_use(self, *tools: str) -> Sentence:
        """Expect that none of these tools was used at any step, by nested agents neither."""
        __tracebackhide__ = True
        sentence = self._saying(f"did_not_use({', '.join(map(repr, tools))})")
        used = [i for i in self.scope if self._step(i).action in tools]
        if used:
            marks = {i: f"{self._step(i).action} was used" for i in used}
            names = ", ".join(sorted({str(self._step(i).action) for i in used}))
            sentence.fail(f"{names} was used at {_at_steps(used)}", marks=marks)
        return sentence

    def observed(self, text: ExpectedText) -> Sentence:
        """Expect what the tool told its agent."""
        __tracebackhide__ = True
        sentence = self._saying(f"observed({told(text)})")
        found = {
            place: _text_difference("it observed", text, self._tool_step(place).observation)
            for place in self.places
        }
        return sentence._where(found)

    def tool_reverted(self) -> Sentence:
        """Expect that the tool reverted."""
        __tracebackhide__ = True
        sentence = self._saying("tool_reverted()")
        found = {
            place: None
            if self._tool_step(place).observation is None
            else f"it told {self._step(place).observation!r}"
            for place in self.places
        }
        return sentence._where(found)

    def thought(self, text: ExpectedText) -> Sentence:
        """Expect what the agent thought at the step."""
        __tracebackhide__ = True
        self._require_place("thought")
        sentence = self._saying(f"thought({told(text)})")
        found = {
            place: _text_difference("it thought", text, self._step(place).thought)
            for place in self.places
        }
        return sentence._where(found)

    # -- answers -- #

    def answered(self, text: ExpectedText | None = None) -> Sentence:
        """Expect the final answer of the outermost agent, or of the one that `of` names."""
        __tracebackhide__ = True
        sentence = self._saying(f"answered({'' if text is None else told(text)})")
        depth = min(self._step(i).depth for i in self.scope)
        ends = [
            i
            for i in self.scope
            if self._step(i).answer is not None and self._step(i).depth == depth
        ]
        if not ends:
            sentence.fail("it gave no final answer", (self.scope[-1],))
        return sentence._answers(text, ends)

    def then_answered(self, text: ExpectedText | None = None) -> Sentence:
        """Expect that the same agent's next step is its final answer."""
        __tracebackhide__ = True
        sentence = self._saying(f"then_answered({'' if text is None else told(text)})")
        after = sentence._next(
            lambda step: step.answer is not None, "the final answer was expected here"
        )
        return after._answers(text, after.places)

    def did_not_answer(self) -> Sentence:
        """Expect that the outermost agent, or the one that `of` names, gave no final answer."""
        __tracebackhide__ = True
        sentence = self._saying("did_not_answer()")
        depth = min(self._step(i).depth for i in self.scope)
        ends = [
            i
            for i in self.scope
            if self._step(i).answer is not None and self._step(i).depth == depth
        ]
        if ends:
            sentence.fail("it gave a final answer", ends)
        return sentence

    # -- the run as a whole -- #

    def in_steps(self, count: int | None = None, *, at_most: int | None = None) -> Sentence:
        """Expect a number of steps: of all agents, or of the one that `of` names."""
        __tracebackhide__ = True
        if (count is None) == (at_most is None):
            raise ConfigError("in_steps takes either a number or at_most=…")
        sentence = self._saying(f"in_steps({count if at_most is None else f'at_most={at_most}'})")
        steps = len(self.scope)
        if steps != count and (at_most is None or steps > at_most):
            sentence.fail(f"it took {counted(steps, 'step')}")
        return sentence

    def cost(self, part: Part = "gas", *, less_than: int) -> Sentence:
        """Expect that gas is below a limit: the transaction's, or the part paid for one thing.

        Gas of prompts and of output is that of the agent which `of` names, where one is named.
        """
        __tracebackhide__ = True
        name = "" if part == "gas" else f"{part!r}, "
        sentence = self._saying(f"cost({name}less_than={less_than:_})")
        if part in {"gas", "evm"} and self.run.gas_used is None:
            raise ConfigError(
                f"the {part} of these steps is not known: give assert_agent the receipt or the "
                "transaction's hash"
            )
        cost = cost_of([self._step(i) for i in self.scope], 0)
        whole = self.run.cost
        gas: int = getattr(cost if part in {"prompt", "output"} or whole is None else whole, part)
        if gas >= less_than:
            over = f"{gas - less_than + 1:,} too much"
            sentence.fail(f"it cost {gas:,} gas{f' of {part}' if name else ''}, {over}")
        return sentence

    def succeeded(self) -> Sentence:
        """Expect that the transaction did not revert."""
        __tracebackhide__ = True
        sentence = self._saying("succeeded()")
        if self.run.failure is not None:
            sentence.fail(f"it reverted: {self.run.failure}")
        return sentence

    def failed(self, reason: ExpectedText | None = None) -> Sentence:
        """Expect that the transaction reverted; the reason is in words, as `explain` has it."""
        __tracebackhide__ = True
        sentence = self._saying(f"failed({'' if reason is None else told(reason)})")
        if self.run.failure is None:
            sentence.fail("it succeeded")
        elif reason is not None and not is_text(reason, self.run.failure):
            sentence.fail(f"it reverted for another reason: {self.run.failure}")
        return sentence

    # -- inside -- #

    def fail(
        self, but: str, at: Iterable[int] = (), *, marks: Mapping[int, str] | None = None
    ) -> NoReturn:
        """Say what does not hold.

        Raises: AssertionError: always.
        """
        __tracebackhide__ = True
        shown_marks = marks or {place: but for place in at if place != START}
        expected = "".join(f".{call}" for call in self.said)
        lines = [f"expected assert_agent(…){expected}", f"but {but}"]
        raise AssertionError("\n".join([*lines, "", run_text(self.run, shown_marks)]))

    def _saying(self, call: str) -> Sentence:
        return replace(self, said=(*self.said, call))

    def _at(self, places: Iterable[int]) -> Sentence:
        return replace(self, places=tuple(places))

    def _step(self, index: int) -> AgentStep:
        return self.run.steps[index]

    def _tool_step(self, index: int) -> AgentStep:
        self._require_place("this")
        step = self._step(index)
        if step.action is None:
            raise ConfigError(
                f"step {index + 1} is a final answer: say which tool was used before what it was "
                "given or told"
            )
        return step

    def _require_place(self, what: str) -> None:
        if START in self.places:
            raise ConfigError(f"{what} is said of a step: begin with used(…) or answered(…)")

    def _where(self, found: Mapping[int, str | None]) -> Sentence:
        """Keep the places without a difference; fail where each has one."""
        __tracebackhide__ = True
        fitting = [place for place, difference in found.items() if difference is None]
        if not fitting:
            marks = {place: str(difference) for place, difference in found.items()}
            self.fail(_at_each(marks), marks=marks)
        return self._at(fitting)

    def _answers(self, text: ExpectedText | None, places: Iterable[int]) -> Sentence:
        __tracebackhide__ = True
        found = {
            place: None
            if text is None
            else _text_difference("it answered", text, self._step(place).answer)
            for place in places
        }
        return self._where(found)

    def _next(self, is_right: Callable[[AgentStep], bool], expected: str) -> Sentence:
        """Go on to the next step of the agent of each place, where that is right."""
        __tracebackhide__ = True
        nexts = {place: self._following(place) for place in self.places}
        fitting = [i for i in nexts.values() if i is not None and is_right(self._step(i))]
        if fitting:
            return self._at(fitting)
        marks, but = {}, []
        for place, following in nexts.items():
            if following is None:
                but.append(f"the agent took no step after step {place + 1}")
                marks[place] = "its last step"
                continue
            step = self._step(following)
            did = f"used {step.action}" if step.answer is None else "gave its final answer"
            but.append(f"at step {following + 1} it {did}")
            marks[following] = expected
        self.fail("; ".join(but), marks=marks)

    def _following(self, place: int) -> int | None:
        """Return the index of the same agent's next step in the same run."""
        if place == START:
            return self.scope[0]
        here = self._step(place)
        if here.answer is not None:
            return None
        for index in range(place + 1, len(self.run.steps)):
            step = self._step(index)
            if step.depth <= here.depth:
                is_same = (step.depth, step.agent) == (here.depth, here.agent)
                return index if is_same else None
        return None

    def _tools(self) -> str:
        """Say which tools were used."""
        names = [str(self._step(i).action) for i in self.scope if self._step(i).answer is None]
        if not names:
            used = "no tool was used"
        else:
            used = f"used were {', '.join(dict.fromkeys(names))}"
        if not self.is_narrowed:
            return used
        return f"{used} by this agent"


def _differences(wanted: Mapping[str, object], step: AgentStep) -> str | None:
    """Return in words which arguments are others; None where none is."""
    given = json.loads(step.action_input or "{}")
    unlike = []
    for name, expected in wanted.items():
        if name not in given:
            has = ", ".join(given) or "none"
            unlike.append(f"{step.action} has no argument {name}; it has {has}")
        elif not is_value(expected, given[name]):
            unlike.append(
                f"{name} is {json.dumps(given[name], ensure_ascii=False)}, not {told(expected)}"
            )
    return "\n".join(unlike) or None


def _text_difference(what: str, expected: ExpectedText, actual: str | None) -> str | None:
    if actual is None:
        return f"{what} nothing: the tool reverted"
    if is_text(expected, actual):
        return None
    difference = f"{what} {actual!r}, not {told(expected)}"
    if isinstance(expected, str) and expected and expected in actual:
        difference += f" (which is a part of it: re.compile({expected!r}) looks for parts)"
    return difference


def _at_each(marks: Mapping[int, str]) -> str:
    return "; ".join(f"at step {i + 1} {', '.join(why.splitlines())}" for i, why in marks.items())


def _at_steps(places: Sequence[int]) -> str:
    numbers = ", ".join(str(place + 1) for place in places)
    return f"step {numbers}" if len(places) == 1 else f"steps {numbers}"


def _run(subject: Subject, chain: AgentChain | None) -> AgentRun:
    if isinstance(subject, AgentRun):
        return subject
    if isinstance(subject, (bytes, str)):
        return _mined(subject, chain)
    if isinstance(subject, Mapping):
        transaction_hash = subject.get("transactionHash")
        if isinstance(transaction_hash, (bytes, str)):
            return _mined(transaction_hash, chain)
    elif isinstance(subject, Sequence) and all(isinstance(one, AgentStep) for one in subject):
        return AgentRun(steps=tuple(subject))
    raise ConfigError(
        f"{subject!r} is no transaction: give its receipt, its hash, or steps of an agent"
    )


def _mined(transaction_hash: bytes | str, chain: AgentChain | None) -> AgentRun:
    """Return what agents did in a transaction that a chain holds.

    Raises: ConfigError: none has it.
    """
    from pyevm_agents.testing.chain import live_chains  # noqa: PLC0415 - steps need no chain

    text = transaction_hash if isinstance(transaction_hash, str) else transaction_hash.hex()
    wanted = bytes.fromhex(text.removeprefix("0x"))
    chains = live_chains() if chain is None else (chain,)
    for one in chains:
        if one.has(wanted):
            return run_of(one.computation(wanted), wanted, _gas_used(one, wanted))
    where = f"none of {counted(len(chains), 'open chain')}" if chain is None else "the chain not"
    raise ConfigError(
        f"no transaction 0x{wanted.hex()}: {where} has it in a block. Was it mined, and not undone?"
    )


def _gas_used(chain: AgentChain, transaction_hash: bytes) -> int:
    found = chain.chain.find_transaction(transaction_hash)
    assert found is not None  # noqa: S101 - `has` said so
    record, index = found
    before = record.receipts[index - 1].gas_used if index else 0
    return record.receipts[index].gas_used - before
