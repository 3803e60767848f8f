"""The council demo: a question with options that a market waits for, and an open, disputed one.

Five agents answer each question. Votes decide the first. A judge without records decides the
second for the liar, whose answer came first; that is disputed, and three judges with records
overturn it. A model's output is the model's; `expectations` has the expected outcomes, and those
that came true.

Nothing here prints. Amounts are read from the chain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import rlp

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.agents.failures import require_success
from pyevm_agents.agents.run_calls import encode_run
from pyevm_agents.agents.trace import extract_agent_steps
from pyevm_agents.chain import Call, Chain
from pyevm_agents.models import CachingModel
from pyevm_agents.recordings import record_state
from pyevm_agents.scenarios.council.cases import (
    CouncilCase,
    CouncilStep,
    list_events,
)
from pyevm_agents.scenarios.council.world import (
    DISPUTE_JUDGES,
    DISPUTER,
    ETHER,
    FIRST_JUDGE,
    INFO_AGENTS,
    JUDGES,
    LIAR,
    NO_ADDRESS,
    ON_CHAIN,
    SILENT,
    STAKES,
    CouncilWorld,
    DemoTerms,
    find_person,
)
from pyevm_agents.scenarios.ideal_runs import explain_outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyevm_agents.devnet.local_account import ExecutedTransaction

REWARD_WEI, BOND_WEI = ETHER, ETHER // 10
COMMIT_TIME = 900

MARKET_QUESTION = "Is the bridge open?"
OPEN_QUESTION = "How many ships were in the harbour in April?"
LIES = {1: b"no", 2: b"7"}
"""What the liar answers, by request."""

SILENT_ANSWERS = {1: b"yes", 2: b"61"}
"""What is committed to and never revealed, by request."""

DISPUTE_REASON = "The register of the harbour says something else."
PRESENT = "the development account"


class CouncilDemo:
    """A council, and the two answered questions."""

    def __init__(self, world: CouncilWorld) -> None:
        """Use deployed contracts; see `deploy`."""
        self.world = world
        self.scores_before = {name: world.read_score(name) for name in world.ids}
        """In hundredths, by name."""
        self.scores_after: dict[str, int] = {}
        self.cases: list[CouncilCase] = []
        self.paid_by_market: dict[str, int] = {}
        """Wei that stakers claimed, by name."""
        self.again: str | None = None
        """What the model of a dispute's judge said when it was asked again."""
        self.left_wei: dict[str, int] = {}
        """What the oracle and the market hold in the end."""

    @classmethod
    def deploy(cls, chain: Chain, *, report: Callable[[str], None] = lambda _: None) -> Self:
        """Deploy everything on a chain like another one.

        Input:
            chain: has one language model, and a funded development account.
            report: gets a text at each step.

        Raises: RevertedError: a contract can't be deployed, such as for want of gas.
        """
        return cls(CouncilWorld.build(chain, report=report))

    @property
    def chain(self) -> Chain:
        """The chain on which the agents run."""
        return self.world.chain

    def run_all(self) -> Iterator[CouncilStep]:
        """Answer both questions, report the outcomes and pay everybody.

        Raises: EngineFault: the model failed. FixtureError: a step reverted that others need.
        """
        yield from self._answer_for_the_market()
        yield from self._answer_with_a_dispute()
        yield from self._report_all()
        yield from self._withdraw_all()
        self.scores_after = {name: self.world.read_score(name) for name in self.world.ids}
        for name in ("oracle", "market"):
            self.left_wei[name] = self.world.read_wei(self.world.address(name))

    # -- the questions -- #

    def _answer_for_the_market(self) -> Iterator[CouncilStep]:
        world = self.world
        deadline = self.chain.head.timestamp + COMMIT_TIME
        oracle = world.address("oracle")
        arguments = (oracle, NO_ADDRESS, MARKET_QUESTION, len(INFO_AGENTS), BOND_WEI, deadline)
        artifact = load_artifact("PredictionMarket")
        sent = world.account.send(None, artifact.encode_creation(*arguments), value_wei=REWARD_WEI)
        case = self._open_case(MARKET_QUESTION, "OPTIONS: yes|no")
        yield self._note(case, "Commit", PRESENT, "deploys the market, which asks", sent)
        world.add("market", artifact, sent.computation.msg.storage_address)
        for name, (on_yes, amount) in STAKES.items():
            text = f"stakes {amount / ETHER:g} ETH on {'yes' if on_yes else 'no'}"
            yield self._send(
                case, "Commit", name, text, "market", "stake", on_yes, amount, value_wei=amount
            )
        yield from self._collect_answers(case)
        self._wait_out(case)
        yield self._send(case, "Resolved", PRESENT, "shares reward and bonds", "oracle",
                         "distributeRewards", case.number)  # fmt: skip
        self._close_case(case)
        yield self._send(case, "Resolved", PRESENT, "calls the market back", "oracle", "callback",
                         world.address("market"), case.number)  # fmt: skip
        for name in STAKES:
            step = self._send(
                case, "Resolved", name, "claims from the market", "market", "claim", is_needed=False
            )
            amount = 0 if step.failure else int(artifact.decode_result("claim", step.output))
            self.paid_by_market[name] = amount
            yield step

    def _answer_with_a_dispute(self) -> Iterator[CouncilStep]:
        world = self.world
        deadline = self.chain.head.timestamp + COMMIT_TIME
        request: tuple[object, ...] = (
            OPEN_QUESTION,
            len(INFO_AGENTS),
            BOND_WEI,
            deadline,
            NO_ADDRESS,
            "",
            ([], []),
        )
        sent = world.send(None, "oracle", "createRequest", *request, value_wei=REWARD_WEI)
        case = self._open_case(OPEN_QUESTION, "")
        yield self._note(case, "Commit", PRESENT, "asks", sent)
        yield self._join_judge(case, FIRST_JUDGE, "Commit")
        yield from self._collect_answers(case)
        yield from self._draw_and_judge(case, (FIRST_JUDGE,), "")
        value = int(world.read("oracle", "disputeBondOf", case.number))
        case.put_in[DISPUTER] = value
        yield self._send(
            case, "Window", DISPUTER, f"disputes: {DISPUTE_REASON}", "oracle", "initiateDispute",
            case.number, DISPUTE_REASON, value_wei=value,
        )  # fmt: skip
        for name in DISPUTE_JUDGES:
            yield self._join_judge(case, name, "DisputeRegistration")
        self._wait_out(case)
        yield self._send(case, "DisputeRegistration", PRESENT, "ends the registration", "oracle",
                         "advance", case.number)  # fmt: skip
        yield from self._draw_and_judge(case, DISPUTE_JUDGES, "Dispute")
        self.again = self._ask_again(DISPUTE_JUDGES[0], case.number)
        yield self._send(case, "Resolved", PRESENT, "shares reward and bonds", "oracle",
                         "distributeRewards", case.number)  # fmt: skip
        self._close_case(case)

    def _collect_answers(self, case: CouncilCase) -> Iterator[CouncilStep]:
        """Let the agents commit, and all but one reveal."""
        oracle = load_artifact("AgentCouncilOracle")
        plain = {LIAR: LIES[case.number], SILENT: SILENT_ANSWERS[case.number]}
        for nonce, name in enumerate(INFO_AGENTS, start=1):
            if name in plain:
                place = find_person(name, self.chain).address
                commitment = self.world.read(
                    "oracle", "commitmentOf", case.number, place, plain[name], nonce
                )
                text = "commits to a lie" if name == LIAR else "commits"
                step = self._send(case, "Commit", name, text, "oracle", "commit", case.number,
                                  commitment, value_wei=BOND_WEI)  # fmt: skip
            else:
                step = self._send(
                    case, "Commit", PRESENT, f"lets {name} answer and commit", name, "join",
                    case.number, nonce, value_wei=BOND_WEI,
                )  # fmt: skip
            case.put_in[name] = BOND_WEI
            yield step
        for nonce, name in enumerate(INFO_AGENTS, start=1):
            if name == SILENT:
                continue
            if name == LIAR:
                given = (case.number, plain[name], nonce)
                yield self._send(case, "Reveal", name, "reveals", "oracle", "reveal", *given)
            else:
                yield self._send(case, "Reveal", PRESENT, f"lets {name} reveal", name, "reveal",
                                 case.number)  # fmt: skip
        self._wait_out(case)
        sent = self.world.send(None, "oracle", "advance", case.number)
        closed = list_events(oracle, self.world.address("oracle"), sent, "ResolutionFinalized")
        text = "ends the reveals, and the votes decide" if closed else "ends the reveals"
        yield self._note(case, "Reveal", PRESENT, text, sent)
        agents, answers = self.world.read("oracle", "getReveals", case.number)
        by_address = {self.world.find_address(name).hex(): name for name in INFO_AGENTS}
        case.answers = {
            by_address[agent.removeprefix("0x").lower()]: bytes(answer)
            for agent, answer in zip(agents, answers, strict=True)
        }

    def _join_judge(self, case: CouncilCase, name: str, phase: str) -> CouncilStep:
        is_of_dispute = phase != "Commit"
        bond = int(self.world.read("oracle", "judgeBondOf", case.number, is_of_dispute))
        case.put_in[name] = bond
        return self._send(
            case, phase, PRESENT, f"registers the judge {name}", name, "register", case.number,
            value_wei=bond,
        )  # fmt: skip

    def _draw_and_judge(
        self, case: CouncilCase, names: Sequence[str], prefix: str
    ) -> Iterator[CouncilStep]:
        """Draw judges with the header of the block that was fixed, and let each of them decide."""
        number = int(self.world.read("oracle", "seedBlockOf", case.number))
        while self.chain.head.block_number < number:
            self.chain.mine()
        header = rlp.encode(self.chain.header(number))
        drawn = "the judge" if len(names) == 1 else f"{len(names)} judges"
        yield self._send(
            case, f"{prefix}Draw", PRESENT, f"draws {drawn} with block {number}", "oracle",
            "selectJudge", case.number, header,
        )  # fmt: skip
        for name in names:
            step = self._send(case, f"{prefix}Judge", name, "judges", name, "judge", case.number,
                              sender=PRESENT)  # fmt: skip
            (judged,) = step.events["Judged"]
            case.verdicts[name] = (judged["verdict"], bytes(judged["finalAnswer"]))
            yield step

    def _ask_again(self, judge: str, request_id: int) -> str:
        """Run a judge's model again, without earlier generations; return the output."""
        data = encode_run(self.world.read(judge, "promptOf", request_id))
        models = {
            name: model.model if isinstance(model, CachingModel) else model
            for name, model in self.chain.models.items()
        }
        chain = Chain(self.chain.config, models, accounts=record_state(self.chain))
        contract = self.world.contracts[judge]
        result = chain.call(Call(to=contract.address, sender=self.world.account.address, data=data))
        if result.error is not None:
            raise result.error
        return str(contract.artifact.decode_result("run", result.output)[1])

    # -- the end -- #

    def _report_all(self) -> Iterator[CouncilStep]:
        for case in self.cases:
            for name in case.put_in:
                if name not in self.world.ids:
                    continue
                yield self._send(
                    case, "Distributed", PRESENT, f"reports {name} to the registry", "reputation",
                    "report", case.number, self.world.find_address(name), is_needed=False,
                )  # fmt: skip

    def _withdraw_all(self) -> Iterator[CouncilStep]:
        """Pay out each participant's claims."""
        case = self.cases[-1]
        names = dict.fromkeys(name for each in self.cases for name in each.put_in)
        for name in names:
            place = self.world.find_address(name)
            if not self.world.read("oracle", "claimable", NO_ADDRESS, place):
                continue
            is_contract = name in ON_CHAIN
            yield self._send(
                case, "Distributed", PRESENT if is_contract else name,
                f"withdraws for {name}" if is_contract else "withdraws",
                name if is_contract else "oracle", "withdraw", NO_ADDRESS,
                self.world.find_payee(name),
            )  # fmt: skip

    # -- steps -- #

    def _open_case(self, question: str, specifications: str) -> CouncilCase:
        case = CouncilCase(
            number=len(self.cases) + 1, question=question, specifications=specifications,
            reward_wei=REWARD_WEI,
        )  # fmt: skip
        self.cases.append(case)
        return case

    def _close_case(self, case: CouncilCase) -> None:
        """Read the answer, and the outcome of each participant."""
        world = self.world
        answer, is_final = world.read("oracle", "getResolution", case.number)
        case.answer = bytes(answer) if is_final else b""
        for name in case.put_in:
            outcome = world.read("oracle", "outcomeOf", case.number, world.find_address(name))
            case.outcomes[name] = int(outcome)
        names = {world.find_address(name).hex(): name for name in case.put_in}
        for step in case.steps:
            for credited in step.events.get("Credited", ()):
                place = credited["account"].removeprefix("0x").lower()
                name = names.get(place, PRESENT)
                case.credited[name] = case.credited.get(name, 0) + int(credited["amount"])
            for paid in step.events.get("RewardsDistributed", ()):
                for winner, amount in zip(paid["winners"], paid["amounts"], strict=True):
                    case.rewards[names[winner.removeprefix("0x").lower()]] = int(amount)
        terms = DemoTerms()
        fee = case.reward_wei * terms.judge_fee // 10_000
        if DISPUTER in case.put_in:
            part = fee * terms.disputer_reimbursement // 10_000
            each = (fee - part) // len(DISPUTE_JUDGES)
            case.rewards |= {DISPUTER: part, **dict.fromkeys(DISPUTE_JUDGES, each)}

    def _wait_out(self, case: CouncilCase) -> None:
        _, ends_at = self.world.read("oracle", "phaseOf", case.number)
        self.world.wait_until(ends_at + 1)

    def _send(  # noqa: PLR0913, PLR0917 - a step
        self,
        case: CouncilCase,
        phase: str,
        who: str,
        text: str,
        name: str,
        function: str,
        *arguments: object,
        value_wei: int = 0,
        is_needed: bool = True,
        sender: str | None = None,
    ) -> CouncilStep:
        """Send a transaction as a step.

        Raises: FixtureError: a revert of a transaction that others need.
        """
        account = who if sender is None else sender
        sent = self.world.send(
            None if account == PRESENT else account, name, function, *arguments,
            value_wei=value_wei,
        )  # fmt: skip
        step = self._note(case, phase, who, text, sent)
        if is_needed:
            whose = text if who == PRESENT else f"{who} {text}"
            require_success(sent.computation, f"step “{whose}”")
        return step

    def _note(
        self, case: CouncilCase, phase: str, who: str, text: str, sent: ExecutedTransaction
    ) -> CouncilStep:
        world = self.world
        events: dict[str, list[dict[str, Any]]] = {}
        for name, artifact in (("oracle", "AgentCouncilOracle"), *_JUDGES):
            for event in ("Credited", "Judged", "RewardsDistributed", "CallbackFinished"):
                found = list_events(load_artifact(artifact), world.address(name), sent, event)
                if found:
                    events[event] = found
        step = CouncilStep(
            phase=phase, who=who, text=text, transaction_hash=sent.hash,
            block_number=sent.block.number, timestamp=sent.block.header.timestamp,
            gas_used=sent.receipt.gas_used, failure=explain_outcome(sent),
            output=sent.computation.output, steps=extract_agent_steps(sent.computation),
            events=events,
        )  # fmt: skip
        case.steps.append(step)
        return step


_JUDGES = tuple((name, "CouncilJudge") for name in JUDGES)
