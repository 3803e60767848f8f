"""A development chain in one call: a model, the profile in genesis, and a funded account.

The base of the demo, the node and test suites.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth.vm.forks.prague.constants import HISTORY_STORAGE_ADDRESS, HISTORY_STORAGE_CONTRACT_CODE
from eth_keys.datatypes import PrivateKey
from eth_typing import Address

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import DEFAULT_BLOCK_GAS_LIMIT, ChainConfig
from pyevm_agents.model_registry.profiles import build_model_profile, build_numeric_profiles
from pyevm_agents.models import CachingModel
from pyevm_agents.vm import FORKS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from precompiles.language_model import LanguageModel, ModelProfile
    from precompiles.numeric_model import NumericModel
    from pyevm_agents.config.schedule_file import ScheduleFile
    from pyevm_agents.models import ProfileFacts, Store


DEVELOPMENT_KEY = PrivateKey(
    bytes.fromhex("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")
)
"""The first account of the mnemonic "test test … junk" that local networks share."""

DEVELOPMENT_ADDRESS = Address(DEVELOPMENT_KEY.public_key.to_canonical_address())

CREATE2_DEPLOYER = Address(bytes.fromhex("4e59b44847b379578588920ca78fbf26c0b4956c"))
CREATE2_DEPLOYER_CODE = bytes.fromhex(
    "7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe03601600081602082378035828234"
    "f58015156039578182fd5b8082525050506014600cf3"
)
"""The CREATE2 deployer of public networks: Foundry's scripts send `new Foo{salt: …}()` to it, and
anvil's genesis has it.

Source: github.com/Arachnid/deterministic-deployment-proxy."""

DEVELOPMENT_BALANCE_WEI = 10_000 * 10**18
"""10,000 ETH, as on other local networks."""


def build_predeploys(fork: str) -> Mapping[Address, GenesisAccount]:
    """Return the contracts in a node's genesis, as in anvil's.

    They are the CREATE2 deployer, and from Prague on EIP-2935's history contract.
    """
    accounts = {CREATE2_DEPLOYER: GenesisAccount(code=CREATE2_DEPLOYER_CODE)}
    if HISTORY_STORAGE_ADDRESS in dict(FORKS[fork].system_contracts).values():
        history = GenesisAccount(nonce=1, code=HISTORY_STORAGE_CONTRACT_CODE)
        accounts[HISTORY_STORAGE_ADDRESS] = history
    return accounts


def create_development_chain(  # noqa: PLR0913 - the parts of a chain
    model: LanguageModel,
    facts: ProfileFacts,
    profile: ModelProfile | None = None,
    *,
    store: Store | None = None,
    schedule: ScheduleFile | None = None,
    block_gas_limit: int = DEFAULT_BLOCK_GAS_LIMIT,
    numeric_models: Mapping[str, NumericModel] | None = None,
) -> Chain:
    """Return a chain with this model at 0x19 and the development account funded.

    Generations are cached: a call, the gas estimate and the transaction cost one inference.

    Input:
        profile: the model's name and prices in genesis; None for the file's name and the defaults.
        store: the generation store; None for a cache in memory.
        schedule: gas prices; None for the defaults.
        block_gas_limit: gas of a block, hence of an agent's transaction.
        numeric_models: models at 0x1a by name; None for none.

    Raises: ConfigError: the schedule is not for this model, or a numeric model's name is invalid.
    """
    model = CachingModel(model, digest=facts.digest, fingerprint=facts.fingerprint, store=store)
    profile = build_model_profile(facts) if profile is None else profile
    return create_funded_chain(
        model,
        facts,
        profile,
        schedule=schedule,
        block_gas_limit=block_gas_limit,
        numeric_models=numeric_models,
    )


def create_funded_chain(  # noqa: PLR0913 - the parts of a chain
    model: LanguageModel,
    facts: ProfileFacts,
    profile: ModelProfile,
    *,
    schedule: ScheduleFile | None = None,
    block_gas_limit: int = DEFAULT_BLOCK_GAS_LIMIT,
    numeric_models: Mapping[str, NumericModel] | None = None,
) -> Chain:
    """Return a chain with this model under this profile and the development account funded.

    Nothing is cached: each call runs inference.

    Input:
        schedule: gas prices; None for those of the profile and the default schedule.
        block_gas_limit: gas of a block.
        numeric_models: models at 0x1a by name; None for none.

    Raises: ConfigError: the schedule is not for this model, or a numeric model's name is invalid.
    """
    config = ChainConfig(
        models=(profile,),
        profile_fingerprint=facts.fingerprint,
        block_gas_limit=block_gas_limit,
        numeric_models=build_numeric_profiles(numeric_models or {}),
    )
    if schedule is not None:
        config = schedule.apply_to(config)
    accounts = {DEVELOPMENT_ADDRESS: GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)}
    models = {profile.name: model}
    return Chain(config, models, numeric_models=numeric_models, accounts=accounts)
