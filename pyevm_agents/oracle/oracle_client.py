"""An oracle's contract on a remote chain, read by JSON-RPC: its requests, workers and balances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth_abi.exceptions import DecodingError
from eth_utils import (
    decode_hex,
    encode_hex,
    to_canonical_address,
    to_checksum_address,
)

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.client.chain_client import (
    RETRIES,
    ChainClient,
    read_view,
)
from pyevm_agents.client.contract import RemoteContract
from pyevm_agents.client.json_rpc import (
    DEFAULT_TIMEOUT_SECONDS,
)
from pyevm_agents.client.logs import parse_logs
from pyevm_agents.oracle.codec import decode_request, get_topic
from pyevm_agents.oracle.contracts import open_oracle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.errors import RemoteFault
    from pyevm_agents.oracle.messages import AgentRequest, Commitment


CONTRACT = "ChallengeableOracle"
"""The artifact that has the functions of both kinds of oracles."""


@dataclass(frozen=True, slots=True)
class ProposedAnswer:
    """A `Proposal` of an oracle whose answers can be challenged."""

    proposal_id: bytes
    answer_hash: bytes
    worker: bytes
    challengeable_until: int
    status: int
    """1 open, 2 challenged, 3 upheld."""

    challenger: bytes
    ruleable_until: int


OPEN, CHALLENGED, UPHELD = 1, 2, 3


@dataclass(frozen=True, slots=True)
class RequestState:
    """The state of a request on the chain."""

    commitment_hash: bytes
    """32 bytes; zeros if it does not wait for an answer."""

    outcome: int
    """0 none, 1 answered, 2 refused, 3 expired."""

    worker: bytes
    """Who answered, 20 bytes."""

    proposal: ProposedAnswer | None
    """None without one, and for oracles whose answers are final."""


@dataclass(frozen=True, slots=True)
class ChallengeTerms:
    """How an oracle's answers are challenged."""

    arbiter: bytes
    bond: int
    """In wei."""


class OracleClient(ChainClient):
    """An `AgentOracle` on the chain of a node. Thread-safe."""

    def __init__(
        self,
        url: str,
        oracle: bytes,
        *,
        retries: int = RETRIES,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    ) -> None:
        """Input: the oracle's address, 20 bytes; the rest as for `RemoteClient`."""
        super().__init__(url, retries=retries, timeout_seconds=timeout_seconds)
        self.oracle = oracle

    def require_oracle(self) -> None:
        """Check that the address has an oracle.

        Raises: ConfigError: no code, or that of another contract.
        """
        open_oracle(self, self.oracle)

    def read_requests(self, first: int, last: int) -> list[AgentRequest]:
        """Return the requests of blocks, in order.

        Raises:
            RemoteError: the node refuses the range.
            RemoteFault: the node does not answer.
            MessageError: a log is not a request.
        """
        query = {
            "address": encode_hex(self.oracle),
            "fromBlock": hex(first),
            "toBlock": hex(last),
            "topics": [encode_hex(get_topic("AgentRequested"))],
        }
        logs = parse_logs(self.request("eth_getLogs", [query]))
        return [decode_request(log) for log in logs]

    def read_states(
        self,
        commitments: Sequence[Commitment],
        *,
        has_proposals: bool,
        block: int | str = "latest",
    ) -> list[RequestState]:
        """Return the states of some requests on the chain, in few round trips.

        Input: the requests; whether the oracle's answers can be challenged; after which block.
        """
        tag = block if isinstance(block, str) else hex(block)
        functions = ("commitmentOf", "answerOf") + (("proposalOf",) if has_proposals else ())
        artifact = load_artifact(CONTRACT)
        params = []
        for each in commitments:
            for function in functions:
                data = artifact.encode_call(function, each.request_id)
                params.append([{"to": encode_hex(self.oracle), "data": encode_hex(data)}, tag])
        answers = iter(self._request_each("eth_call", params))
        states = []
        for _ in commitments:
            values = [self._decode(name, next(answers)) for name in functions]
            outcome, _, worker, _ = values[1]
            states.append(
                RequestState(
                    commitment_hash=values[0],
                    outcome=outcome,
                    worker=to_canonical_address(worker),
                    proposal=_parse_proposal(values[2][0]) if has_proposals else None,
                )
            )
        return states

    def read_terms(self) -> ChallengeTerms | None:
        """Return how answers are challenged; None for an oracle whose answers are final."""
        if not RemoteContract(self, CONTRACT, self.oracle).supports("IChallengeableOracle"):
            return None
        return ChallengeTerms(to_canonical_address(self.read("arbiter")), self.read("bond"))

    def read_workers(self) -> list[bytes]:
        """Return the registered workers, in order."""
        return [to_canonical_address(each) for each in self.read("workers")]

    def read_claimable(self, account: bytes) -> int:
        """Return what an account may withdraw, in wei."""
        return int(self.read("claimable", to_checksum_address(account)))

    def read(self, function: str, *arguments: object) -> Any:  # noqa: ANN401 - what Solidity returns
        """Call a view of the oracle; return the result.

        Raises: RejectedCallError. RemoteFault: there is no oracle any more.
        """
        try:
            return read_view(self, self.oracle, CONTRACT, function, *arguments)
        except DecodingError as error:
            raise self._build_gone_fault(function) from error

    def _decode(self, function: str, answer: object) -> Any:  # noqa: ANN401 - what Solidity returns
        try:
            return load_artifact(CONTRACT).decode_result(function, decode_hex(str(answer)))
        except (DecodingError, ValueError) as error:
            raise self._build_gone_fault(function) from error

    def _build_gone_fault(self, function: str) -> RemoteFault:
        return self.build_fault(
            "eth_call",
            f"{function} of oracle {to_checksum_address(self.oracle)} returned something else",
            "check that the oracle is still on this chain",
        )


def _parse_proposal(values: Sequence[Any]) -> ProposedAnswer | None:
    """Return a `Proposal`; None if the request has none."""
    proposal_id, _, answer_hash, worker, until, status, _, challenger, ruleable, _ = values
    if status == 0:
        return None
    return ProposedAnswer(
        proposal_id=proposal_id,
        answer_hash=answer_hash,
        worker=to_canonical_address(worker),
        challengeable_until=until,
        status=status,
        challenger=to_canonical_address(challenger),
        ruleable_until=ruleable,
    )
