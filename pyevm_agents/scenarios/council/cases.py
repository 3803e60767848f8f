"""Questions of the council demo: the answering steps, and the shares of participants."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eth_abi import decode
from eth_utils import event_abi_to_log_topic
from eth_utils.abi import collapse_if_tuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth_typing import Address

    from pyevm_agents.abi.bundled import Artifact
    from pyevm_agents.agents.trace import AgentStep
    from pyevm_agents.devnet.local_account import ExecutedTransaction

OUTCOMES = ("none", "right", "wrong", "withheld", "upheld", "overturned", "absent")
"""`Outcome` of `ICouncil.sol`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CouncilStep:
    """A transaction of the demo."""

    phase: str
    """Of the request, when it was sent."""

    who: str
    text: str
    transaction_hash: bytes
    block_number: int
    timestamp: int
    gas_used: int
    failure: str | None
    """Why it reverted; None if it succeeded."""

    output: bytes
    steps: tuple[AgentStep, ...]
    """Of the agent that ran, if any."""

    events: Mapping[str, list[dict[str, Any]]]
    """Some events of the oracle and the judges, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Wei that a participant of a question put in and got."""

    name: str
    put_in: int
    got: int
    outcome: str

    @property
    def net(self) -> int:
        """Return the gain; negative for a loss."""
        return self.got - self.put_in

    @property
    def loss(self) -> int:
        """Return the lost part of the bond."""
        return max(0, -self.net)


@dataclass(slots=True, kw_only=True)
class CouncilCase:
    """A question, and the outcome."""

    number: int
    question: str
    specifications: str
    reward_wei: int
    steps: list[CouncilStep] = field(default_factory=list)
    put_in: dict[str, int] = field(default_factory=dict)
    """Wei of bonds, by name."""

    credited: dict[str, int] = field(default_factory=dict)
    """Wei that the oracle credited, by name."""

    rewards: dict[str, int] = field(default_factory=dict)
    """Wei of the reward alone, by name: an info agent's part, or a judge's or disputer's fee."""

    answers: dict[str, bytes] = field(default_factory=dict)
    """Revealed answers, by name."""

    verdicts: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    """What judges' models said, and the answers that they decided, by name."""

    outcomes: dict[str, int] = field(default_factory=dict)
    answer: bytes = b""
    """The final one."""

    @property
    def total_in(self) -> int:
        """Return the wei of the reward and all bonds."""
        return self.reward_wei + sum(self.put_in.values())

    @property
    def total_out(self) -> int:
        """Return the wei that the oracle credited."""
        return sum(self.credited.values())

    def list_shares(self) -> list[Share]:
        """Return the share of each participant."""
        return [
            Share(
                name=name,
                put_in=self.put_in.get(name, 0),
                got=self.credited.get(name, 0),
                outcome=OUTCOMES[self.outcomes.get(name, 0)],
            )
            for name in dict.fromkeys((*self.put_in, *self.credited))
        ]

    def find_share(self, name: str) -> Share:
        """Return the share of a participant."""
        return next(each for each in self.list_shares() if each.name == name)


def list_events(
    artifact: Artifact, address: Address, sent: ExecutedTransaction, name: str
) -> list[dict[str, Any]]:
    """Return the events of that name which a contract logged, by argument.

    Indexed addresses are hex text; other indexed arguments are integers.
    """
    abi: Any = next((e for e in artifact.abi if e["type"] == "event" and e["name"] == name), None)
    if abi is None or not sent.is_success:
        return []
    topic = int.from_bytes(event_abi_to_log_topic(abi))
    indexed = [one for one in abi["inputs"] if one["indexed"]]
    plain = {one["name"]: collapse_if_tuple(one) for one in abi["inputs"] if not one["indexed"]}
    found = []
    for place, topics, data in sent.computation.get_log_entries():
        if place != address or topics[0] != topic:
            continue
        values = dict(zip(plain, decode(list(plain.values()), data), strict=True))
        for one, value in zip(indexed, topics[1:], strict=True):
            is_address = one["type"] == "address"
            values[one["name"]] = f"0x{value:040x}" if is_address else value
        found.append(values)
    return found


def serialize_case(case: CouncilCase) -> dict[str, object]:
    """Return a question as a JSON object. Amounts are decimal strings of wei."""
    return {
        "requestId": case.number,
        "question": case.question,
        "specifications": case.specifications,
        "answer": case.answer.decode(errors="replace"),
        "answers": {name: text.decode(errors="replace") for name, text in case.answers.items()},
        "verdicts": {
            name: {"said": said, "answer": answer.decode(errors="replace")}
            for name, (said, answer) in case.verdicts.items()
        },
        "shares": [
            {
                "name": share.name, "putIn": str(share.put_in), "got": str(share.got),
                "net": str(share.net), "reward": str(case.rewards.get(share.name, 0)),
                "outcome": share.outcome,
            }
            for share in case.list_shares()
        ],
        "in": str(case.total_in),
        "out": str(case.total_out),
        "steps": [
            {
                "hash": "0x" + step.transaction_hash.hex(), "phase": step.phase, "who": step.who,
                "text": step.text, "timestamp": step.timestamp,
            }
            for step in case.steps
        ],
    }  # fmt: skip
