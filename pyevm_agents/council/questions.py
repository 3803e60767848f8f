"""A question as the call that asks it: of ERC-8033, or of the ERC authors' draft."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_abi import encode
from eth_utils import function_signature_to_4byte_selector, to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.council.erc_oracle import CREATE, CREATE_DRAFT, INTERFACE
from pyevm_agents.council.messages import NOBODY
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from pyevm_agents.council.council_client import CouncilClient

REVEAL_SECONDS, SIGNUP_SECONDS, JUDGE_SECONDS = 600, 3_000, 900
"""Times of a request in the draft's form, which has no rules for all requests. Source: the defaults
of `council deploy`."""

JUDGE_FEE = 1_000
"""Of the reward, in hundredths of a percent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A question that is to be asked. Names and units are those of `CouncilRequest`."""

    query: str
    agents: int
    bond: int
    reward: int
    reward_token: bytes
    deadline: int
    specifications: str
    capabilities: tuple[str, ...]
    domains: tuple[str, ...]


def encode_question(client: CouncilClient, question: AskedQuestion) -> tuple[bytes, str | None]:
    """Return the calldata that asks a question, and what was chosen beside the question, if any.

    Raises: ConfigError: the oracle has no known `createRequest`.
    """
    texts = (question.capabilities, question.domains)
    token = to_checksum_address(question.reward_token)
    if client.erc is None or CREATE in client.erc.functions:
        return load_artifact(INTERFACE).encode_call(
            "createRequest",
            *(question.query, question.agents, question.bond, question.deadline, token),
            *(question.specifications, texts),
        ), None
    if CREATE_DRAFT not in client.erc.functions:
        raise ConfigError("the oracle has no createRequest of ERC-8033, so nobody can ask it")
    reveal_end = question.deadline + REVEAL_SECONDS
    values = (
        *(question.query, question.agents, question.reward, question.bond, question.deadline),
        *(reveal_end + SIGNUP_SECONDS, REVEAL_SECONDS, question.bond, JUDGE_SECONDS, JUDGE_FEE),
        *(token, to_checksum_address(NOBODY), question.specifications, texts),
    )
    types = CREATE_DRAFT.removeprefix("createRequest(").removesuffix(")")
    selector = bytes(function_signature_to_4byte_selector(CREATE_DRAFT))
    return selector + encode([types], [values]), (
        f"The oracle takes the times with the question: {REVEAL_SECONDS // 60} min to reveal, "
        f"{SIGNUP_SECONDS // 60} min for judges to register, {JUDGE_SECONDS // 60} min to judge; "
        f"the judge's bond is an agent's, its fee {JUDGE_FEE // 100} %"
    )
