"""Which requests a participant takes: bounds on money, and declared capabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from pyevm_agents.council.messages import NOBODY
from pyevm_agents.display import format_amount

if TYPE_CHECKING:
    from pyevm_agents.council.messages import CouncilRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """Bounds of the requests that are taken."""

    max_bond: int
    """The most wei of a bond."""

    min_reward: int = 1
    """The least reward, in base units of its token; in wei for the native asset."""

    reward_tokens: frozenset[bytes] = frozenset()
    """Tokens other than the native asset in which rewards are taken."""

    capabilities: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()
    request_ids: frozenset[int] = frozenset()
    """The requests that are taken; none: all."""

    def explain_refusal(  # noqa: PLR0911 - one for each reason
        self, request: CouncilRequest, bond: int | None = None
    ) -> str | None:
        """Return why a request is not taken; None if the request is taken.

        Input:  bond: what the account would put up, in wei; None for an info agent's bond.
        """
        if self.request_ids and request.request_id not in self.request_ids:
            return "not one of --request"
        if request.bond_token != NOBODY:
            token = to_checksum_address(request.bond_token)
            return f"its bonds are in the token {token}; bonds in ether alone are put up"
        needed = request.bond if bond is None else bond
        if needed > self.max_bond:
            limit = format_amount(self.max_bond)
            return f"its bond of {format_amount(needed)} is above --max-bond {limit}"
        if not request.is_native and request.reward_token not in self.reward_tokens:
            token = to_checksum_address(request.reward_token)
            return f"its reward is in the token {token}; --reward-token takes it"
        if request.reward < self.min_reward:
            return f"its reward of {request.reward:,} is below --min-reward {self.min_reward:,}"
        for name, required, own in (
            ("capability", request.capabilities, self.capabilities),
            ("domain", request.domains, self.domains),
        ):
            missing = [each for each in required if each not in own]
            if missing:
                return f"it requires {', '.join(missing)}; --{name} declares it"
        return None
