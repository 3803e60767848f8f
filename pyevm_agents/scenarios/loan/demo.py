"""The loan demo: applications that an agent decides, and a vote on the criteria.

Each run is compared with the ideal one, which a scripted model makes from the same state: the
criteria are read, the credit score agent makes the named checks and no others, and the decision
follows the score. The tools' answers, and the balances in the end, come from the contracts in both.

Nothing here prints. Balances are read from the chain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.agents.failures import find_answer, require_success
from pyevm_agents.agents.trace import extract_agent_steps
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.models import answer, use
from pyevm_agents.scenarios.ideal_runs import (
    create_swappable_chain,
    explain_outcome,
    follow_script,
    run_beside_ideal,
)
from pyevm_agents.scenarios.loan.applications import read_applications
from pyevm_agents.scenarios.loan.runs import (
    CHECK_TOOLS,
    CREDIT,
    DECIDE,
    READ,
    READ_PROPOSAL,
    VOTE_TOOLS,
    LoanOutcome,
    LoanRun,
)
from pyevm_agents.scenarios.loan.world import (
    APPLICANTS,
    DAY_SECONDS,
    HISTORY,
    LAST_DAY,
    REASONS,
    LoanWorld,
)
from pyevm_agents.scenarios.recorded import Scenario, require_scenario, restart_from_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from precompiles.language_model import GenerationRequest
    from pyevm_agents.chain import Chain
    from pyevm_agents.devnet.local_account import ExecutedTransaction
    from pyevm_agents.models.fakes.script_steps import Step
    from pyevm_agents.scenarios.loan.applications import Application, Criteria

ENOUGH = ": enough for"
"""What the score's sentence has if it reaches the limit."""

ANSWER = "Done."

BEFORE, AFTER = "before", "after"
"""Names of the criteria of the demo."""

DESCRIPTION = "Know more of applicants"
"""Of the demo's proposal."""


class IdealScript:
    """A script that makes the checks of the criteria, and decides by the score.

    The script reads the prompt and has no state, so that a run's blocks can be executed again.
    """

    def __init__(self, request: str, checks: Sequence[str]) -> None:
        """Write the steps of a run.

        Input:
            request: of `LoanAgent.requestFor`; the quotation is the application's text.
            checks: those of the criteria, by name.
        """
        start, text, _ = request.split('"')
        self._question = f"Question: {start}"
        self._steps = (use(READ), use(CREDIT, prompt=text))
        self._checks = tuple(use(CHECK_TOOLS[check]) for check in checks)

    def __call__(self, request: GenerationRequest) -> Step:
        """Return the next step."""
        texts = [segment.text for segment in request.segments]
        place = next(i for i, text in enumerate(texts) if text.startswith("Question: "))
        history = "".join(texts[place + 1 :]).split("\nObservation: ")
        done = len(history) - 1
        if not texts[place].startswith(self._question):
            return self._checks[done] if done < len(self._checks) else answer(ANSWER)
        if done < len(self._steps):
            return self._steps[done]
        if done == len(self._steps):
            return use(DECIDE, is_approved=ENOUGH in history[-1])
        return answer(ANSWER)


def list_ideal_vote(topic: int) -> list[Step]:
    """Return the steps of a vote on a proposal of a topic, by the mandates."""
    return [use(READ_PROPOSAL), use(VOTE_TOOLS[topic], reason=REASONS[topic]), answer(ANSWER)]


class LoanDemo:
    """A lending pool with a DAO, agents, and applicants with a history."""

    def __init__(self, world: LoanWorld, *, is_ideal: bool = False) -> None:
        """Use deployed contracts; see `deploy`."""
        self.world = world
        self.is_ideal = is_ideal
        self.criteria = read_applications().criteria[BEFORE]
        """Those of the policy."""

    @classmethod
    def deploy(
        cls,
        chain: Chain,
        *,
        is_ideal: bool = False,
        report: Callable[[str], None] = lambda _: None,
    ) -> Self:
        """Deploy everything on a chain like another one, and let applicants take and repay loans.

        Input:
            chain: has one language model, and a funded development account.
            is_ideal: whether the scripted ideal runs in place of the model.
            report: gets a text at each step.

        Raises: FixtureError: a loan of the history reverted, such as for want of gas.
        """
        report("deploying the pool, its DAO and its agents")
        sender = LocalAccount(create_swappable_chain(chain))
        demo = cls(LoanWorld(sender, read_applications().criteria[BEFORE]), is_ideal=is_ideal)
        report("400 days of loans, by the scripted ideal")
        with follow_script(demo.chain, demo._write_script("")):
            demo._make_history()
        return demo

    @property
    def chain(self) -> Chain:
        """The chain on which the agents run."""
        return self.world.account.chain

    def move_to(self, chain: Chain) -> None:
        """Go on on another chain that has the same contracts."""
        self.world.account.chain = chain

    def run_story(self) -> Iterator[LoanRun]:
        """Decide on the demo's applications: half of them, a vote on new criteria, the others.

        Raises: EngineFault: the model failed.
        """
        story = read_applications().story
        half = len(story) // 2
        for number, application in enumerate(story[:half], start=1):
            yield self.apply(application, number)
        yield self.vote(read_applications().criteria[AFTER], DESCRIPTION, half + 1)
        for number, application in enumerate(story[half:], start=half + 2):
            yield self.apply(application, number)

    def apply(self, application: Application, number: int = 1) -> LoanRun:
        """Decide on an application in one transaction.

        Raises: EngineFault: the model failed.
        """
        before = self.world.read_balance(application.applicant)
        script = self._write_script(application.text)
        outcome, ideal = self._run_twice(script, lambda: self._request(application))
        return LoanRun(
            number=number, application=application, criteria=self.criteria.text, before=before,
            outcome=outcome, ideal=ideal,
        )  # fmt: skip

    def vote(self, criteria: Criteria, description: str, number: int = 1) -> LoanRun:
        """Propose criteria, let the agent vote with the delegated votes, and execute the proposal.

        Without a majority the criteria stay.

        Raises: EngineFault: the model failed.
        """
        world = self.world
        proposal = world.build_proposal(criteria, description)
        topic = int(world.read("proposal_text", "topicOf", *proposal[:3]))
        world.propose(proposal)
        script = _Steps(list_ideal_vote(topic))
        outcome, ideal = self._run_twice(script, lambda: self._vote_on(proposal))
        if world.close_vote(proposal):
            world.execute_proposal(proposal)
            self.criteria = criteria
        return LoanRun(
            number=number, application=None, criteria=criteria.text, before=0,
            outcome=outcome, ideal=ideal,
        )  # fmt: skip

    def set_criteria(self, criteria: Criteria) -> None:
        """Change the criteria by the owner's own votes.

        Raises: RevertedError: the proposal has not succeeded.
        """
        world = self.world
        proposal = world.build_proposal(criteria, criteria.text)
        world.propose(proposal)
        world.execute("governor", "castVote", world.find_proposal(proposal), 1)
        world.close_vote(proposal)
        world.execute_proposal(proposal)
        self.criteria = criteria

    def _run_twice(
        self, script: Callable[[GenerationRequest], Step], run: Callable[[], LoanOutcome]
    ) -> tuple[LoanOutcome, LoanOutcome]:
        return run_beside_ideal(self.chain, script, run, is_ideal=self.is_ideal)

    def _request(self, application: Application) -> LoanOutcome:
        world = self.world
        sent = world.request(application.applicant, application.tokens, application.text)
        is_approved, text = _decode(sent, "LendingPool", "requestLoan") or (False, None)
        balance = world.read_balance(application.applicant)
        return _summarize(sent, text, balance, is_approved=bool(is_approved))

    def _vote_on(self, proposal: tuple[object, ...]) -> LoanOutcome:
        voter, found = self.world.contracts["voter"], self.world.find_proposal(proposal)
        call = voter.artifact.encode_call("voteOn", *proposal)
        sent = self.world.account.send(voter.address, call)
        _, text = _decode(sent, "VotingAgent", "voteOn") or (None, None)
        _, votes_for, _ = self.world.read("governor", "proposalVotes", found)
        return _summarize(sent, text, int(votes_for), is_approved=text is not None)

    def _write_script(self, text: str) -> IdealScript:
        return IdealScript(str(self.world.read("agent", "requestFor", text)), self.criteria.checks)

    def _make_history(self) -> None:
        start = self.chain.head.timestamp
        for day, action, name, tokens in HISTORY:
            self._wait_until(start + day * DAY_SECONDS)
            if action == "repay":
                self.world.repay(name)
                continue
            require_success(self.world.request(name, tokens, "").computation, f"{name}'s past loan")
        self._wait_until(start + LAST_DAY * DAY_SECONDS)
        for name in APPLICANTS:
            self.world.set_savings(name)
        # Nothing of the script is a block of the chain that the model runs on.
        now, chain = self.chain.head.timestamp, restart_from_state(self.chain)
        self.move_to(chain)
        chain.mine(timestamp_seconds=now)

    def _wait_until(self, timestamp_seconds: int) -> None:
        if (missing := timestamp_seconds - self.chain.head.timestamp) > 0:
            self.world.wait(missing)


class _Steps:
    """A script that is a list."""

    def __init__(self, steps: list[Step]) -> None:
        self._steps = steps

    def __call__(self, _: GenerationRequest) -> Step:
        return self._steps.pop(0)


def _decode(sent: ExecutedTransaction, contract: str, function: str) -> tuple[object, ...] | None:
    """Return the results of a call; None for a revert."""
    if not sent.is_success:
        return None
    return tuple(load_artifact(contract).decode_result(function, sent.computation.output))


def _summarize(
    sent: ExecutedTransaction, text: object, balance: int, *, is_approved: bool
) -> LoanOutcome:
    return LoanOutcome(
        transaction_hash=sent.hash,
        block_number=sent.block.number,
        computation=sent.computation,
        gas_used=sent.receipt.gas_used,
        failure=explain_outcome(sent),
        answer=find_answer(sent.computation, lambda _: text),
        is_approved=is_approved,
        steps=extract_agent_steps(sent.computation),
        balance=balance,
    )


# -- recording -- #


def _build_loan(building: Chain) -> Chain:
    demo = LoanDemo.deploy(building)
    for run in demo.run_story():
        text = "; ".join(run.differences)
        require_scenario(run.is_ideal, f"run {run.number} is not the ideal: {text}")
    return demo.chain


LOAN = Scenario(
    comment="A lending pool's agent decides on applications in one transaction each: it reads the "
    "DAO's criteria, an agent of its own makes the checks that they name, and the loan is approved "
    "and paid, or denied, by the score. Then an agent with delegated votes votes new criteria in, "
    "and the next applicants are judged by these. One of them hides instructions in the text.",
    make=_build_loan,
)
"""The scenario `loan` of `chain_fixtures/`."""
