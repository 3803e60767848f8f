"""The treasury of a control plane: a new one with stated caps, its checks, and what it allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth_abi.exceptions import DecodingError
from eth_utils import to_checksum_address

from pyevm_agents.contracts import load_artifact
from pyevm_agents.errors import AgentsError, ConfigError
from pyevm_agents.lifecycle.policy import SYSTEM_LIMITS
from pyevm_agents.lifecycle.registry_trust import read

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyevm_agents.devnet.chain import ContractAccount
    from pyevm_agents.lifecycle.chain_port import ChainPort

    JsonForm = dict[str, Any]

CONTRACT = "RunTreasury"
NATIVE = bytes(20)
"""Stands for wei among a treasury's assets."""

UNLIMITED = 2**256 - 1
OPERATOR_WEI = 10**18
"""What an operator's account gets that has less: it pays for the call that appoints a delegate, and
a dry run lets it call `confirmRun`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreasuryPolicy:
    """The rules of a new treasury."""

    cap_wei: int
    """What a task may spend in all, and on each target."""

    deposit_wei: int
    targets: tuple[bytes, ...] = ()
    functions: tuple[tuple[bytes, bytes], ...] = ()
    """Targets, each with a function's 4-byte selector that may be called."""


def deploy_treasury(
    owner: ContractAccount,
    operators: Iterable[ContractAccount],
    delegate: bytes,
    policy: TreasuryPolicy,
    protected: Iterable[bytes] = (),
) -> bytes:
    """Deploy a treasury, and appoint operators and their delegate; return its address.

    Input:
        owner: pays, and may change the policy later.
        operators: the accounts whose confirmations count.
        delegate: the account that sends the transactions of runs.
        policy: caps, deposit, recipients and functions.
        protected: contracts that no run calls.
    """
    artifact = load_artifact(CONTRACT)
    address = owner.deploy(artifact.encode_creation(owner.address, sorted(protected)))

    def send(account: ContractAccount, function: str, *arguments: object) -> None:
        account.execute(address, artifact.encode_call(function, *arguments))

    steps, writes = SYSTEM_LIMITS.max_steps, SYSTEM_LIMITS.max_onchain_writes
    send(owner, "setLimits", steps, writes, False)  # noqa: FBT003 - the ABI has places
    send(owner, "setAsset", NATIVE, policy.cap_wei, UNLIMITED)
    for target in sorted({*policy.targets, *(target for target, _ in policy.functions)}):
        send(owner, "setTargetCap", target, NATIVE, policy.cap_wei)
    for target, selector in policy.functions:
        send(owner, "setSelector", target, selector, True)  # noqa: FBT003
    for operator in operators:
        send(owner, "setOperator", operator.address, True)  # noqa: FBT003
        if operator.address != owner.address:
            owner.execute(operator.address, b"", value_wei=OPERATOR_WEI)
        if operator.address != delegate:
            send(operator, "setDelegate", delegate, True)  # noqa: FBT003
    if policy.deposit_wei:
        owner.execute(address, b"", value_wei=policy.deposit_wei)
    return bytes(address)


def require_treasury(port: ChainPort, treasury: bytes, operators: Iterable[bytes]) -> None:
    """Accept a treasury in which the chain's account may open runs of these operators.

    Raises: ConfigError: there is no treasury, or it does not let that account or an operator.
    """
    place = f"treasury {to_checksum_address(treasury)}"
    for operator in sorted(operators):
        name = to_checksum_address(operator)
        try:
            is_operator = bool(read(port, CONTRACT, treasury, "isOperator", operator))
            is_delegate = operator == port.address or bool(
                read(port, CONTRACT, treasury, "isDelegate", operator, port.address)
            )
        except (AgentsError, DecodingError) as error:
            raise ConfigError(f"{place}: no RunTreasury on this chain; pass its address") from error
        if not is_operator:
            raise ConfigError(f"{place}: {name} is no operator; its owner appoints it: setOperator")
        if not is_delegate:
            raise ConfigError(
                f"{place}: {to_checksum_address(port.address)} may not open runs of {name}; the "
                "operator appoints it: setDelegate"
            )


def describe_treasury(port: ChainPort, treasury: bytes, balance_wei: int) -> JsonForm:
    """Return the treasury's limits and assets."""

    def get(function: str, *arguments: object) -> Any:  # noqa: ANN401 - what Solidity returns
        return read(port, CONTRACT, treasury, function, *arguments)

    assets = []
    for asset in get("getAssets"):
        _, cap, threshold = get("policyOf", asset)
        assets.append({"asset": asset, "cap": str(cap), "confirmAbove": str(threshold)})
    return {
        "address": to_checksum_address(treasury),
        "owner": to_checksum_address(get("owner")),
        "balanceWei": str(balance_wei),
        "maxSteps": get("maxSteps"),
        "maxOnchainWrites": get("maxWrites"),
        "confirmsAlways": get("confirmsAlways"),
        "isPaused": get("paused"),
        "delegate": to_checksum_address(port.address),
        "assets": assets,
    }
