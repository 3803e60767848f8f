"""Probes: simulated calls of a snapshot, from any account, with overrides of balance and storage.

A prober reads a chain and changes nothing. The same probe on the same state has the same result.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from eth_typing import Address
from eth_utils import to_checksum_address

from pyevm_agents.abi.revert_reasons import BUNDLED
from pyevm_agents.agents.failures import explain_failure
from pyevm_agents.chain import AccountOverride, Call
from pyevm_agents.contract_intelligence.caller_taint import TaintTape
from pyevm_agents.vm import RuleError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eth.abc import BlockHeaderAPI

    from pyevm_agents.abi.known_contracts import KnownContracts
    from pyevm_agents.chain import ChainSimulator
    from pyevm_agents.contract_intelligence.caller_taint import TracedCall
    from pyevm_agents.vm import AgentVM

ZERO = Address(bytes(20))

PROBE_GAS = 10_000_000
"""Gas of a probe. Real calls rarely take more; one without an end takes a second or two."""

PROBE_BALANCE_WEI = 10**24
"""Ether of the account that makes a probe, if it has less."""

SLOW_GAS = 1_000_000
"""A probe that takes more gas is not made twice."""

MAX_SLOW_PROBES = 64
MAX_ENDLESS_PROBES = 8
"""Probes of one prober without an end. Later probes have `SHORT_GAS`."""

SHORT_GAS = 500_000
"""Gas of a probe of a contract that has endless functions. Most calls take less."""

MAX_TOTAL_GAS = 2_000_000_000
"""Gas of all probes of one prober: minutes. The benchmark's dearest contract takes a tenth."""

DEEP_CALLS = 64
"""Calls in each other of which the last has a third of the gas of the first."""

TRANSFER_TOPIC = 0xDDF252AD1BE2C89B69C2B068FC378DAA952BA7F163C4A11628F55A4DF523B3EF
"""Topic of `Transfer(address,address,uint256)` of ERC-20 and ERC-721."""

TRANSFER_TOPICS = 3
"""Topics of an ERC-20's transfer; an ERC-721's has the token's ID as a fourth one."""

MAX_OUTPUT_BYTES = 65_536
"""The most output of a probe that is kept; hostile contracts return megabytes."""

Overrides = tuple[tuple[Address, int, int], ...]
"""Account, slot and value of each overridden slot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallProbe:
    """A call to simulate."""

    sender: Address
    to: Address
    data: bytes
    value_wei: int = 0
    storage: Overrides = ()
    gas: int = PROBE_GAS


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenTransfer:
    """A transfer of a token, from a log, or of ether."""

    token: Address | None
    """None for ether."""

    sender: Address
    recipient: Address
    amount: int
    """Base units; the ID of an ERC-721's token."""

    is_item: bool = False
    """Whether the amount is an ID."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """Outcome of a probe: calls, logs and transfers."""

    probe: CallProbe
    is_success: bool
    output: bytes = b""
    """Return data, or revert data; at most `MAX_OUTPUT_BYTES`."""

    halt: str | None = None
    """The exceptional halt, such as out of gas; None for a success or a revert."""

    reason: str = ""
    """Why it failed; empty for a success."""

    gas_limit: int = 0
    gas_used: int = 0
    logs: tuple[tuple[bytes, tuple[int, ...], bytes], ...] = ()
    """Address, topics and data of each log that was not reverted."""

    tape: TaintTape = field(repr=False, compare=False)

    def list_calls(self) -> list[TracedCall]:
        """Return the calls made, each before the inner ones."""
        return [*_walk(self.tape.root)]

    def find_delegate(self) -> Address | None:
        """Return the contract to which the whole call was delegated; None without a delegation."""
        root = self.tape.root
        if root is None:
            return None
        for call in root.calls:
            is_delegated = call.account == root.account and call.code_account != call.account
            if is_delegated and call.data.startswith(root.data):
                return call.code_account
        return None

    def list_transfers(self) -> list[TokenTransfer]:
        """Return the transfers of tokens and of ether of a call that succeeded, tokens first."""
        tokens = [
            TokenTransfer(
                token=Address(bytes(address)),
                sender=_to_address(topics[1]),
                recipient=_to_address(topics[2]),
                amount=(
                    topics[3] if len(topics) > TRANSFER_TOPICS else int.from_bytes(data[:32], "big")
                ),
                is_item=len(topics) > TRANSFER_TOPICS,
            )
            for address, topics, data in self.logs
            if len(topics) >= TRANSFER_TOPICS and topics[0] == TRANSFER_TOPIC
        ]
        ether = [
            TokenTransfer(
                token=None, sender=call.sender, recipient=call.account, amount=call.value_wei
            )
            for call in self.list_calls()[1:]
            if call.value_wei and not call.is_error and call.account != call.sender
        ]
        return tokens + ether if self.is_success else []

    def find_failing_calls(self) -> tuple[TracedCall, ...]:
        """Return the failed call, the last inner call if that failed, and further inward."""
        found: list[TracedCall] = []
        call = self.tape.root
        while call is not None and call.is_error:
            found.append(call)
            call = call.calls[-1] if call.calls else None
        return tuple(found)

    @property
    def failure_site(self) -> tuple[object, ...]:
        """Place and kind of the failure; equal for two of one reason. Empty for a success."""
        if self.is_success:
            return ()
        places = tuple(
            (bytes(call.code_account), call.jump, call.end) for call in self.find_failing_calls()
        )
        return (*places, self.output.replace(self.probe.sender, b""), self.halt)

    @property
    def failure_place(self) -> tuple[object, ...]:
        """Place of the failure, without the arguments of the error."""
        *places, _, halt = self.failure_site or ((), "")
        return (*places, self.output[:4], halt)

    def list_last_jumps(self) -> list[tuple[tuple[Address, int], bool]]:
        """Return the JUMPIs that may have decided a failure, with their outcomes.

        These are the last one of the innermost failed call, and the last one whose condition is
        traced.
        """
        failing = self.find_failing_calls()
        if not failing:
            return []
        position, is_taken = failing[-1].jump
        found = [((failing[-1].code_account, position), is_taken)]
        last = next((each for each in reversed(self.tape.decisions) if each.call in failing), None)
        if last is not None:
            found.append(((last.call.code_account, last.position), last.is_taken))
        return found


class Prober:
    """Simulates calls on one state of a chain. Not thread-safe."""

    def __init__(
        self,
        chain: ChainSimulator,
        *,
        known: KnownContracts = BUNDLED,
        header: BlockHeaderAPI | None = None,
        gas: int = PROBE_GAS,
    ) -> None:
        """Read a chain.

        Input:
            chain: an own one, or an in-process fork of a live one.
            known: contracts whose errors are named in reasons.
            header: of the block in which the calls run; by default the next one.
            gas: limit of a probe.
        """
        self.chain, self.gas = chain, gas
        self._known = known
        self.header = chain.build_next_header() if header is None else header
        self._classes: dict[type, type[AgentVM]] = {}
        self._slow: dict[CallProbe, ProbeResult] = {}
        """Results of probes that took much gas."""

        self.count = 0
        """Probes made."""

        self.gas_used = self._endless = 0

    def run(self, probe: CallProbe) -> ProbeResult:
        """Simulate a call.

        Raises: EngineFault, RemoteFault: the host or the remote node failed.
        """
        result = self._slow.get(probe)
        if result is None:
            result = self._simulate(probe)
            self.gas_used += result.gas_used
            self._endless += self.is_endless(result)
            if result.gas_used > SLOW_GAS and len(self._slow) < MAX_SLOW_PROBES:
                self._slow[probe] = result
        return result

    def _limit_gas(self, wanted: int) -> int:
        """Return the gas of the next probe: 0 after the prober has used up all."""
        if self.gas_used >= MAX_TOTAL_GAS:
            return 0
        most = SHORT_GAS if self._endless >= MAX_ENDLESS_PROBES else self.gas
        return min(wanted, most)

    def is_endless(self, result: ProbeResult) -> bool:
        """Whether a call ended only for want of gas: nearly all was used, or calls were too deep.

        Each caller keeps a 64th of the gas, so calls without an end leave much.
        """
        failing = result.find_failing_calls()
        if not failing or not failing[-1].is_out_of_gas:
            return False
        return result.gas_used > result.gas_limit * 9 // 10 or len(failing) > DEEP_CALLS

    def _simulate(self, probe: CallProbe) -> ProbeResult:
        self.count += 1
        tape = TaintTape(probe.sender, probe.data, self._classes)
        gas = self._limit_gas(probe.gas)
        if not gas:
            reason = f"the analysis has used up its {MAX_TOTAL_GAS:,} gas"
            return ProbeResult(probe=probe, is_success=False, halt=reason, reason=reason, tape=tape)
        call = Call(
            to=probe.to,
            sender=probe.sender,
            data=probe.data,
            value_wei=probe.value_wei,
            gas=gas,
        )
        overrides = _group_overrides(probe.storage)
        balance_wei = self.chain.balance(probe.sender)
        # A contract that calls itself would own what it has to pay out.
        is_own = probe.sender == probe.to and not probe.value_wei
        if balance_wei < PROBE_BALANCE_WEI and not is_own:
            before = overrides.get(probe.sender, AccountOverride(keeps_precompile=True))
            overrides[probe.sender] = replace(before, balance_wei=PROBE_BALANCE_WEI)
        try:
            result = self.chain.call(call, header=self.header, overrides=overrides, trace=tape.wrap)
        except RuleError as error:
            return ProbeResult(
                probe=probe, is_success=False, halt="not valid", reason=str(error), tape=tape
            )
        failure = result.error
        reason, halt = "", None
        if failure is not None:
            reason = explain_failure(result.computation, self._known)
            if failure.burns_gas:
                halt = str(failure) or type(failure).__name__
        return ProbeResult(
            probe=probe,
            is_success=failure is None,
            output=result.output[:MAX_OUTPUT_BYTES],
            halt=halt,
            reason=reason,
            gas_limit=gas,
            gas_used=result.gas_used,
            logs=tuple(
                (bytes(address), tuple(topics), bytes(data))
                for _, address, topics, data in result.computation.get_raw_log_entries()
            ),
            tape=tape,
        )

    def read(self, to: Address, data: bytes, sender: Address = ZERO) -> ProbeResult:
        """Simulate a call without value and overrides."""
        return self.run(CallProbe(sender=sender, to=to, data=data))

    def read_slot(self, account: Address, slot: int) -> int:
        """Return the value of a slot."""
        return self.chain.state().get_storage(account, slot)


def to_hex_address(value: bytes | int) -> str:
    """Return an address, given as bytes or as a word, as checksummed text."""
    data = value if isinstance(value, bytes) else _to_address(value)
    return str(to_checksum_address(data))


def _to_address(word: int) -> Address:
    return Address(word.to_bytes(32, "big")[-20:])


def _group_overrides(storage: Overrides) -> dict[Address, AccountOverride]:
    slots: dict[Address, dict[int, int]] = {}
    for account, slot, value in storage:
        slots.setdefault(account, {})[slot] = value
    return {
        account: AccountOverride(storage_diff=values, keeps_precompile=True)
        for account, values in slots.items()
    }


def _walk(call: TracedCall | None) -> Iterator[TracedCall]:
    waiting = [] if call is None else [call]
    while waiting:
        current = waiting.pop()
        yield current
        waiting += reversed(current.calls)
