"""An info agent, a judge and a keeper: due acts, and computed and kept values."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.client.chain_client import RejectedCallError, UnsignedCall
from pyevm_agents.council.commitments import (
    CommitmentForm,
    CommitmentPlace,
    KnownForm,
    compute_commitment,
)
from pyevm_agents.council.council_client import CONTRACT
from pyevm_agents.council.council_worker import MISSED, CouncilWorker
from pyevm_agents.council.decisions import (
    DRAFT_OPENINGS,
    Act,
    Kept,
    Openings,
    decide_agent,
    decide_common,
    decide_judge,
)
from pyevm_agents.council.messages import (
    NOBODY,
    RequestPhase,
    SaltedAnswer,
    Verdict,
)
from pyevm_agents.council.verdicts import hash_case, is_overturned
from pyevm_agents.errors import ConfigError
from pyevm_agents.oracle.worker import explain_rejection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.client.chain_client import RemoteHeader
    from pyevm_agents.council.answers import AnswerSource
    from pyevm_agents.council.messages import RequestView
    from pyevm_agents.council.verdicts import VerdictSource


NONCE_BITS = 256


class Participant(CouncilWorker):
    """An info agent: commits, reveals, withdraws."""

    role = "info agent"

    def __init__(
        self,
        *arguments: object,
        source: AnswerSource,
        form: CommitmentForm | None = None,
        **values: object,
    ) -> None:
        """Begin nothing yet.

        Input: where answers come from; the form of commitments, None: that of the oracle; the rest
               as `CouncilWorker`.
        """
        self._source, self._given_form = source, form
        self._form: KnownForm | None = None
        super().__init__(*arguments, **values)  # type: ignore[arg-type] # as of the base class

    def decide(self, view: RequestView) -> Act:
        """Return the act that is due for a request."""
        own = view.commits.get(self.address)
        number = view.key[0]
        kept = Kept(
            has_answer=self._store.get_answer(view.key) is not None,
            knows_commitment=own is not None
            and self._store.find_commitment(number, own) is not None,
        )
        act = decide_agent(view, self._stand(), kept)
        is_strange = own is None and not kept.has_answer
        is_strange &= view.request.request_id not in self._limits.request_ids
        return Act.WAIT if is_strange and act in {*MISSED, Act.DONE} else act

    def prepare(self, view: RequestView) -> None:
        """Find out the form of commitments, and show it before a bond is paid.

        Raises: ConfigError: the oracle takes none of the known forms.
        """
        if self._form is not None:
            return
        given = self._given_form
        if given is None:
            found = self._client.find_commitment_form(self._chain_id, view.request, self.address)
        else:
            found = KnownForm(form=given, source="as --commitment says", is_sure=True)
            if self._client.takes_form(self._chain_id, view.request, self.address, given) is False:
                raise ConfigError(
                    f"--commitment {given.option}: the oracle takes no such commitment, by a "
                    "simulated reveal; the bond would be lost"
                )
        self._form = found
        self.log.write("commitments", form=found.form.option, source=found.source)

    def compute(self, view: RequestView) -> SaltedAnswer:
        """Compute an answer, and hide the answer with a random nonce."""
        answer, nonce = self._source.answer(view.request), secrets.randbits(NONCE_BITS)
        place = CommitmentPlace(
            chain_id=self._chain_id,
            oracle=self._client.oracle,
            request_id=view.request.request_id,
            agent=self.address,
        )
        assert self._form is not None  # noqa: S101 - by `prepare`
        commitment = compute_commitment(self._form.form, place, answer, nonce)
        return SaltedAnswer(answer=answer, nonce=nonce, commitment=commitment)

    def keep(self, view: RequestView, result: SaltedAnswer | Verdict) -> None:
        """Keep an answer before the commitment."""
        assert isinstance(result, SaltedAnswer)  # noqa: S101 - as computed
        kept = self._store.add_answer(view.key, result)
        answer = kept.answer.decode(errors="replace")
        self.log.write("kept", request=view.key, answer=answer, commitment=kept.commitment)

    def is_confirmed(self, act: Act, view: RequestView, older: RequestView) -> bool:
        """Return whether the commitment that is to be revealed was there some blocks ago."""
        if act is not Act.REVEAL:
            return True
        return older.commits.get(self.address) == view.commits[self.address]

    def encode(self, act: Act, view: RequestView) -> tuple[bytes, int]:
        """Return calldata and wei of the oracle's function for an act."""
        if act is Act.COMMIT:
            kept = self._store.get_answer(view.key)
            assert kept is not None  # noqa: S101 - as decided
            return self._client.encode_act(act, view, kept.commitment), view.request.bond
        if act is Act.REVEAL:
            kept = self._store.find_commitment(view.key[0], view.commits[self.address])
            assert kept is not None  # noqa: S101 - as decided
            return self._client.encode_act(act, view, kept.answer, kept.nonce), 0
        return super().encode(act, view)


class Judge(CouncilWorker):
    """A judge: registers, draws, decides, withdraws."""

    role = "judge"

    def __init__(self, *arguments: object, source: VerdictSource, **values: object) -> None:
        """Input: where verdicts come from; the rest as `CouncilWorker`."""
        self._source = source
        super().__init__(*arguments, **values)  # type: ignore[arg-type] # as of the base class

    def decide(self, view: RequestView) -> Act:
        """Return the act that is due for a request."""
        kept = Kept(has_verdict=self._find_verdict(view) is not None)
        openings = Openings() if self._client.erc is None else DRAFT_OPENINGS
        act = decide_judge(
            view, self._stand(), kept, role=self._settings.judge_role, openings=openings
        )
        if act is Act.AGGREGATE and self._owes_bond(view):
            act = Act.POST_BOND
        is_ours = self.address in view.judges
        is_ours |= view.request.request_id in self._limits.request_ids
        return Act.WAIT if act in {*MISSED, Act.DONE} and not is_ours else act

    def _owes_bond(self, view: RequestView) -> bool:
        """Return whether the oracle takes this judge's bond now, as those that draw first do."""
        if self._client.erc is None or not self._client.can(Act.POST_BOND, view.phase):
            return False
        call = UnsignedCall(
            sender=self.address,
            to=self._client.oracle,
            data=self._client.encode_act(Act.POST_BOND, view),
            value_wei=view.panel.bond,
        )
        try:
            self._client.simulate(call, "latest")  # While the bond waits in the pool, it is owed.
        except RejectedCallError:
            return False
        return True

    def compute(self, view: RequestView) -> Verdict:
        """Compute a verdict."""
        return self._source.judge(view)

    def keep(self, view: RequestView, result: SaltedAnswer | Verdict) -> None:
        """Keep a verdict before the transaction."""
        assert isinstance(result, Verdict)  # noqa: S101 - as computed
        self._store.add_verdict(view.key[0], hash_case(view), result)
        self.log.write(
            "judged",
            request=view.key,
            answer=result.answer.decode(errors="replace"),
            winners=len(result.winners),
            reasoning=result.reasoning.decode(errors="replace"),
        )

    def is_confirmed(self, act: Act, view: RequestView, older: RequestView) -> bool:
        """Return whether the judge was drawn, and the answers were there, some blocks ago."""
        if act not in {Act.COMPUTE, Act.AGGREGATE, Act.RULE}:
            return True
        is_drawn = self.address in older.current_panel.judges
        return is_drawn and hash_case(older) == hash_case(view)

    def encode(self, act: Act, view: RequestView) -> tuple[bytes, int]:
        """Return calldata and wei of the oracle's function for an act."""
        if act not in {Act.AGGREGATE, Act.RULE}:
            return super().encode(act, view)
        verdict = self._find_verdict(view)
        assert verdict is not None  # noqa: S101 - as decided
        encode = self._client.encode_act
        winners = [to_checksum_address(each) for each in verdict.winners]
        if act is Act.AGGREGATE:
            return encode(act, view, verdict.answer, winners, verdict.reasoning), 0
        # The same answer stays as it was written.
        answer = verdict.answer if is_overturned(verdict, view) else view.answer
        data = encode(act, view, True, answer, winners)  # noqa: FBT003 - of a contract
        if self._changes_nothing(data):
            data = encode(act, view, False, answer, winners)  # noqa: FBT003 - of a contract
        return data, 0

    def _changes_nothing(self, data: bytes) -> bool:
        """Return whether answer and winners are the disputed ones: the oracle shows no winners."""
        call = UnsignedCall(sender=self.address, to=self._client.oracle, data=data, value_wei=0)
        try:
            self._client.estimate_gas(call)
        except RejectedCallError as error:
            return explain_rejection(error).startswith("NothingOverturned(")
        return False

    def describe_end(self, view: RequestView) -> dict[str, str]:
        """Return what became of this judge's own verdict, and of the dispute if there was one."""
        end = {"verdict": self.read_outcome(view)}
        dispute = self._client.read_dispute_outcome(view)
        return end if dispute is None else {**end, "dispute": dispute}

    def _find_verdict(self, view: RequestView) -> Verdict | None:
        if view.phase not in {RequestPhase.JUDGE, RequestPhase.DISPUTE_JUDGE}:
            return None
        return self._store.get_verdict(view.key[0], hash_case(view))


class Keeper(CouncilWorker):
    """Ends phases, draws judges, shares rewards and calls requesters back, for everybody."""

    role = "keeper"
    ends_with_requests = False

    def __init__(self, *arguments: object, payees: Sequence[bytes] = (), **values: object) -> None:
        """Input: accounts whose claims are sent to them; the rest as `CouncilWorker`."""
        self._payees = payees
        super().__init__(*arguments, **values)  # type: ignore[arg-type] # as of the base class

    def _withdraw(self, head: RemoteHeader) -> None:
        """Have the claims sent of accounts that can't withdraw, such as contracts of the ERC."""
        tokens = sorted({NOBODY, *(each.request.reward_token for each in self._views.values())})
        for account in self._payees:
            amounts = self._client.read_claimable(account, tokens)
            for token, amount in zip(tokens, amounts, strict=True):
                key = (account.rjust(32, b"\0"), token.rjust(32, b"\0"))
                if amount and self._delays.is_due(key):
                    names = map(to_checksum_address, (token, account))
                    data = load_artifact(CONTRACT).encode_call(Act.PAY.value, *names)
                    self._submit(head, Act.PAY, key, data, 0)

    def concerns(self, view: RequestView) -> bool:
        """Return whether this participant calls the requester back, if nobody else does."""
        return self._limits.explain_refusal(view.request) is None

    def list_own(self) -> list[int]:
        """Return the numbers of the requests that concern this participant: all."""
        return [*self._ended]

    def decide(self, view: RequestView) -> Act:
        """Return the act that is due for a request."""
        return decide_common(view, self._stand()) if self.concerns(view) else Act.WAIT

    def is_confirmed(self, act: Act, view: RequestView, older: RequestView) -> bool:
        """Return whether an act needs no confirmations: a keeper's do not."""
        del act, view, older
        return True
