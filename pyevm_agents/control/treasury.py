"""The treasury of a control plane: a new one with stated caps, the checks, and the limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth_abi.exceptions import DecodingError
from eth_utils import (
    function_signature_to_4byte_selector,
    to_canonical_address,
    to_checksum_address,
)

from precompiles.spec import WORD_BYTES
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.control.results import TreasuryAsset, TreasuryResult
from pyevm_agents.errors import AgentsError, ConfigError
from pyevm_agents.lifecycle.policy import SYSTEM_LIMITS
from pyevm_agents.lifecycle.registry_trust import read
from pyevm_agents.lifecycle.treasury_refusals import NATIVE_ASSET

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyevm_agents.client.accounts import SendingAccount
    from pyevm_agents.control.treasury_policy import TreasuryPolicy
    from pyevm_agents.lifecycle.local_chain import LocalChainPort

CONTRACT = "RunTreasury"
UNLIMITED = 2**256 - 1
BALANCE_OF = function_signature_to_4byte_selector("balanceOf(address)")
OPERATOR_WEI = 10**18
"""What an operator's account gets that has less: it pays for the call that appoints a delegate, and
a dry run lets it call `confirmRun`."""


def deploy_treasury(
    owner: SendingAccount,
    operators: Iterable[SendingAccount],
    delegate: bytes,
    policy: TreasuryPolicy,
    protected: Iterable[bytes] = (),
) -> bytes:
    """Deploy a treasury, and appoint operators and a delegate; return the address.

    Input:
        owner: pays, and may change the policy later.
        operators: the accounts whose confirmations count.
        delegate: the account that sends the transactions of runs.
        policy: caps, deposit, recipients and functions.
        protected: contracts that no run calls.
    """
    artifact = load_artifact(CONTRACT)
    address = owner.deploy(artifact.encode_creation(owner.address, sorted(protected)))

    def send(account: SendingAccount, function: str, *arguments: object) -> None:
        account.transact(address, artifact.encode_call(function, *arguments))

    for function, *arguments in _list_settings(policy):
        send(owner, function, *arguments)
    for operator in operators:
        send(owner, "setOperator", operator.address, True)  # noqa: FBT003
        if operator.address != owner.address:
            owner.transact(operator.address, b"", value_wei=OPERATOR_WEI)
        if operator.address != delegate:
            send(operator, "setDelegate", delegate, True)  # noqa: FBT003
    if policy.deposit_wei:
        owner.transact(address, b"", value_wei=policy.deposit_wei)
    return bytes(address)


def _list_settings(policy: TreasuryPolicy) -> Iterator[tuple[Any, ...]]:
    """Yield the owner's calls that set a policy: a function's name and the arguments."""
    yield "setLimits", SYSTEM_LIMITS.max_steps, SYSTEM_LIMITS.max_onchain_writes, False
    caps = [
        (NATIVE_ASSET, policy.cap_wei),
        *((each.token, each.amount) for each in policy.token_caps),
    ]
    for asset, cap in caps:
        yield "setAsset", asset, cap, UNLIMITED
        for target in policy.destinations:
            yield "setTargetCap", target, asset, cap
    for target, selector in policy.functions:
        yield "setSelector", target, selector, True


def require_tokens(port: LocalChainPort, policy: TreasuryPolicy) -> None:
    """Accept rules whose tokens are on the chain, and are no targets of the rules.

    Raises: ConfigError: there is no ERC-20 token at an address, or an agent may call the token.
    """
    for each in policy.token_caps:
        place = f"token {to_checksum_address(each.token)}"
        if _read_balance(port, each.token, each.token) is None:
            raise ConfigError(
                f"{place}: no ERC-20 token on this chain, which tells balances (balanceOf); deploy "
                "it, or pass its address"
            )
        if each.token in policy.destinations:
            raise ConfigError(
                f"{place}: a treasury transfers its tokens itself, and calls no function of "
                "theirs; name the recipients by --treasury-allow instead"
            )


def _read_balance(port: LocalChainPort, token: bytes, account: bytes) -> int | None:
    """Return an account's balance of a token; None if the token does not return one."""
    try:
        output = port.call(token, BALANCE_OF + account.rjust(WORD_BYTES, b"\0"))
    except AgentsError:
        return None
    return int.from_bytes(output) if len(output) == WORD_BYTES else None


def require_treasury(port: LocalChainPort, treasury: bytes, operators: Iterable[bytes]) -> None:
    """Accept a treasury in which the chain's account may open runs of these operators.

    Raises: ConfigError: no treasury, or one that refuses that account or an operator.
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


def describe_treasury(port: LocalChainPort, treasury: bytes, balance_wei: int) -> TreasuryResult:
    """Return the treasury's limits and assets.

    Input: the chain; the treasury's address, and the wei there.
    """

    def get(function: str, *arguments: object) -> Any:  # noqa: ANN401 - what Solidity returns
        return read(port, CONTRACT, treasury, function, *arguments)

    assets = []
    for asset in get("getAssets"):
        _, cap, threshold = get("policyOf", asset)
        token = to_canonical_address(asset)
        held = balance_wei if token == NATIVE_ASSET else _read_balance(port, token, treasury)
        assets.append(
            TreasuryAsset(
                asset=to_checksum_address(asset),
                cap=str(cap),
                confirm_above=str(threshold),
                balance=None if held is None else str(held),
            )
        )
    return TreasuryResult(
        address=to_checksum_address(treasury),
        owner=to_checksum_address(get("owner")),
        balance_wei=str(balance_wei),
        max_steps=get("maxSteps"),
        max_onchain_writes=get("maxWrites"),
        confirms_always=get("confirmsAlways"),
        is_paused=get("paused"),
        delegate=to_checksum_address(port.address),
        assets=tuple(assets),
    )
