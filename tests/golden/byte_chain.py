"""Chains with a scripted model whose tokens are bytes, and tools for its prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_typing import Address

from precompiles.gas import DEFAULT_SCHEDULE
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS
from tests.byte_model import PROFILE, ByteModel
from tests.chain_bench import OWNER, Bench

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from precompiles.gas import GasSchedule
    from precompiles.language_model import GenerationRequest, ModelProfile

Parameter = tuple[int, str, str]
"""Type, name and description of a tool's parameter, as `inputDescription()` returns it."""

EXECUTOR = Address(bytes(19) + b"\x19")
ANSWER = " easy\nFinal Answer: done"

EVERY_TYPE: tuple[Parameter, ...] = tuple(
    (position, f"of type {position}", f"A value of type {position}") for position in range(10)
)


def open_bench(
    script: Iterable[str] | Callable[[GenerationRequest], str] = (),
    *,
    profile: ModelProfile = PROFILE,
    schedule: GasSchedule = DEFAULT_SCHEDULE,
    codes: Mapping[Address, bytes] | None = None,
) -> Bench:
    """Return a chain whose model generates the given texts, with a funded account."""
    model = ByteModel(script, is_free=True)
    config = ChainConfig(models=(profile,), schedule=schedule)
    accounts = {at: GenesisAccount(balance_wei=10**30) for at in (OWNER, DEVELOPMENT_ADDRESS)}
    accounts |= {at: GenesisAccount(code=code, nonce=1) for at, code in (codes or {}).items()}
    return Bench(Chain(config, {profile.name: model}, accounts=accounts), model)


def deploy_tool(
    bench: Bench, name: str, description: str, parameters: Sequence[Parameter]
) -> Address:
    """Deploy a tool with this metadata, which returns `Noted`."""
    nowhere = bytes(20)
    return bench.deploy("ScriptedTool", name, description, list(parameters), nowhere, "Noted", [])
