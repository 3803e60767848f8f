"""An analyser whose findings a test writes, and which notes what it was asked."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pyevm_agents.contract_intelligence.capabilities import Access
from tests.pyevm_agents.contract_intelligence.exchange import to_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyevm_agents.chain import Chain
    from pyevm_agents.contract_intelligence.capabilities import FunctionCapability


@dataclass(kw_only=True)
class RecordingAnalyser:
    """Finds functions open, unless a finding of their signature says otherwise."""

    findings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Changed members of capabilities, by signature."""

    asked: list[tuple[str, str, Mapping[str, str]]] = field(default_factory=list)
    """Contract, account and known accounts of each call."""

    def __call__(
        self,
        chain: Chain,
        contract: str,
        functions: Sequence[FunctionCapability],
        account: str,
        /,
        *,
        known_accounts: Mapping[str, str],
    ) -> Sequence[FunctionCapability]:
        """Return the functions with the findings of the test."""
        assert chain.state().get_code(to_bytes(contract))
        self.asked.append((contract, account, known_accounts))
        return tuple(
            replace(each, **{"access": Access.OPEN, **self.findings.get(each.signature, {})})  # type: ignore[arg-type]
            for each in functions
        )
