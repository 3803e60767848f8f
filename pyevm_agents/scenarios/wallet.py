"""The wallet demo: an agent executes an instruction of the owner in one transaction.

Nothing here prints. Reported balances are read from the chain.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from eth_typing import Address
from eth_utils import to_canonical_address, to_checksum_address

from precompiles.outcome import is_done
from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.agents.failures import find_answer
from pyevm_agents.agents.trace import (
    AgentStep,
    extract_agent_steps,
)
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.errors import ConfigError
from pyevm_agents.model_registry.profiles import ALIASES
from pyevm_agents.models import answer, use
from pyevm_agents.scenarios.ideal_runs import create_swappable_chain, explain_outcome, follow_script

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.chain import Chain
    from pyevm_agents.client.accounts import SendingAccount

DEFAULT_INSTRUCTION = "Deposit 10 USDC into the pool"

WALLET_TOKENS = 1_000
"""Initial balance of the wallet, in whole tokens of each kind."""

POOL_TOKENS = 500
"""Initial balance of the wallet in the pool, in whole tokens of each kind."""

TOKENS = {"USDC": ("USD Coin", 6), "DAI": ("Dai Stablecoin", 18)}
"""Symbol to name and decimals."""

BASE_PROMPT = """You are an agent deployed on an EVM blockchain, responsible for managing a \
user's wallet. The wallet's owner will give you instructions in simple terms, and your goal is to \
execute the instructions from the user, given the list of tools you can use.

{addresses}{examples}"""
"""The ERC's base prompt, with lines that name the demo's tokens."""

Balances = dict[str, dict[str, int]]
"""Base units by token symbol, of `wallet` and `pool`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoRun:
    """One instruction and the results."""

    instruction: str
    transaction_hash: bytes
    block_number: int
    state_root: bytes
    """State root of the transaction's block."""

    is_success: bool
    failure: str | None
    """The revert reason; None if it succeeded."""

    gas_used: int
    prompt_gas: int
    output_gas: int
    steps: tuple[AgentStep, ...]
    answer: str | None
    """Also of a run that was undone since it is not done; None if it failed for another reason."""

    before: Balances
    after: Balances

    @property
    def is_not_done(self) -> bool:
        """Whether the agent answered that the task was not done."""
        return self.answer is not None and not is_done(self.answer)

    @property
    def evm_gas(self) -> int:
        """Gas used without the gas of tokens."""
        return self.gas_used - self.prompt_gas - self.output_gas

    def count_tokens(self) -> dict[str, int]:
        """Return the run's tokens: cold, warm, output, and forced (part of output)."""
        records = [step.inference for step in self.steps]
        return {
            "cold": sum(record.cold_tokens for record in records),
            "warm": sum(record.warm_tokens for record in records),
            "output": sum(record.output_tokens for record in records),
            "forced": sum(record.forced_tokens for record in records),
        }


def require_instruction(instruction: str) -> None:
    """Reject an invalid instruction.

    Raises: ConfigError: empty, or not valid UTF-8.
    """
    if not instruction.strip():
        raise ConfigError(f"the instruction is empty; give one such as {DEFAULT_INSTRUCTION!r}")
    try:
        instruction.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(
            f"the instruction is not valid UTF-8 at character {error.start}; "
            "type it again in a UTF-8 terminal"
        ) from error


class WalletContracts:
    """Tokens, a pool and a wallet's agent with an account, deployed and funded."""

    agent_contract = "WalletAgent"
    """Name of the agent's contract."""

    def __init__(self, owner: SendingAccount, *, examples: str = "") -> None:
        """Deploy and fund everything.

        Input:
            owner: deploys the contracts, hence owns the wallet.
            examples: worked examples for the end of the base prompt. The default model needs none.
        """
        self._owner = owner
        self.tokens: dict[str, Address] = {
            symbol: owner.deploy(
                load_artifact("DemoToken").encode_creation(name, symbol, decimals, 10**30)
            )
            for symbol, (name, decimals) in TOKENS.items()
        }
        self.pool = owner.deploy(load_artifact("LiquidityPool").encode_creation())
        info = owner.deploy(load_artifact("TokenInfoTool").encode_creation())
        addresses = "\n".join(
            f"{symbol} = {to_checksum_address(token)}" for symbol, token in self.tokens.items()
        )
        section = f"\n\n{examples}" if examples else ""
        base_prompt = BASE_PROMPT.format(addresses=addresses, examples=section)
        self.agent = owner.deploy(self.encode_agent(base_prompt, info))
        account = self.read(self.agent_contract, self.agent, "account")
        self.account = Address(to_canonical_address(account))
        for symbol, token in self.tokens.items():
            total = (WALLET_TOKENS + POOL_TOKENS) * self.unit[symbol]
            self._execute("DemoToken", token, "transfer", self.account, total)
            self.move(symbol, POOL_TOKENS * self.unit[symbol])

    def encode_agent(self, base_prompt: str, info: Address) -> bytes:
        """Return the initcode of the agent.

        Input:  info: the fourth tool.
        """
        return load_artifact("WalletAgent").encode_creation(
            EXECUTOR_ADDRESS, ALIASES[0], self.pool, base_prompt, info
        )

    @property
    def unit(self) -> Mapping[str, int]:
        """Base units of one whole token, by symbol. Instructions use whole tokens."""
        return {symbol: 10**decimals for symbol, (_, decimals) in TOKENS.items()}

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Display names of the contracts, by checksummed address."""
        names = {token: symbol for symbol, token in self.tokens.items()}
        names |= {self.pool: "pool", self.agent: self.agent_contract, self.account: "WalletAccount"}
        tools = self.read(self.agent_contract, self.agent, "getTools")
        for tool in (Address(to_canonical_address(tool)) for tool in tools):
            names[tool] = self.read("IERCAgentTool", tool, "name")
        return {to_checksum_address(address): name for address, name in names.items()}

    def move(self, symbol: str, amount: int) -> None:
        """Deposit base units into the pool as the owner, without the agent.

        Input:  amount: negative to withdraw.
        Raises: RevertedError: insufficient balance.
        """
        door = "ownerWithdraw" if amount < 0 else "ownerDeposit"
        self._execute("WalletAccount", self.account, door, self.tokens[symbol], abs(amount))

    def read_balances(self) -> Balances:
        """Return the token balances of wallet and pool, from the token contracts."""
        holders = {"wallet": self.account, "pool": self.pool}
        return {
            place: {
                symbol: self.read("DemoToken", token, "balanceOf", holder)
                for symbol, token in self.tokens.items()
            }
            for place, holder in holders.items()
        }

    def insert_addresses(self, instruction: str) -> str:
        """Replace `{USDC}` and `{DAI}` by the tokens' addresses.

        Raises: ConfigError: an invalid instruction.
        """
        require_instruction(instruction)
        for symbol, token in self.tokens.items():
            instruction = instruction.replace(f"{{{symbol}}}", to_checksum_address(token))
        return instruction

    def read(self, contract: str, to: Address, function: str, *arguments: object) -> Any:  # noqa: ANN401 - what Solidity returns
        """Call a function without a transaction; return the result."""
        abi = load_artifact(contract)
        return abi.decode_result(
            function, self._owner.read(to, abi.encode_call(function, *arguments))
        )

    def _execute(self, contract: str, to: Address, function: str, *arguments: object) -> None:
        self._owner.transact(to, load_artifact(contract).encode_call(function, *arguments))


class WalletDemo(WalletContracts):
    """The wallet with a `WalletAgent`, which runs in one transaction."""

    def __init__(self, chain: Chain, *, examples: str = "") -> None:
        """Deploy and fund everything.

        Input:
            chain: a chain whose development account has ether.
            examples: as for `WalletContracts`.
        """
        self.chain = chain
        self._sender = LocalAccount(chain)
        super().__init__(self._sender, examples=examples)

    def run(self, instruction: str) -> DemoRun:
        """Send an instruction as the wallet's owner, in one transaction.

        Input:  instruction: English text; `{USDC}` and `{DAI}` become the tokens' addresses.
        Raises: ConfigError: an invalid instruction. EngineFault: the model failed.
        """
        instruction = self.insert_addresses(instruction)
        before = self.read_balances()
        sent = self._sender.send(
            self.agent, load_artifact("WalletAgent").encode_call("instruct", instruction)
        )
        computation = sent.computation
        steps = extract_agent_steps(computation)
        artifact = load_artifact("WalletAgent")
        answer = find_answer(computation, lambda output: artifact.decode_result("instruct", output))
        return DemoRun(
            instruction=instruction,
            transaction_hash=sent.hash,
            block_number=sent.block.number,
            state_root=sent.block.header.state_root,
            is_success=sent.is_success,
            failure=explain_outcome(sent),
            gas_used=sent.receipt.gas_used,
            prompt_gas=sum(step.inference.prompt_gas for step in steps),
            output_gas=sum(step.inference.output_gas for step in steps),
            steps=steps,
            answer=answer,
            before=before,
            after=self.read_balances(),
        )


IDEAL_SCRIPT = (
    use("DeployTool", thought=DEFAULT_INSTRUCTION, asset="USDC", amount=10),
    answer("Done."),
)
"""The ideal for `DEFAULT_INSTRUCTION`."""

ATOMIC_INSTRUCTION = "Deposit 10 USDC, then withdraw 600 DAI"
ATOMIC_SCRIPT = (
    use("DeployTool", thought="I deposit 10 USDC first.", asset="USDC", amount=10),
    use("WithdrawTool", thought="Now I withdraw 600 DAI.", asset="DAI", amount=600),
)
"""The wallet has 500 DAI in the pool, so the second tool reverts, and with it the first."""


def run_atomic_demo(chain: Chain) -> tuple[WalletDemo, DemoRun]:
    """Run a wallet agent whose second tool reverts, by a script on a new chain like another one.

    Input:  chain: has one language model, and a funded development account.
    """
    wallet = WalletDemo(create_swappable_chain(chain))
    with follow_script(wallet.chain, ATOMIC_SCRIPT):
        return wallet, wallet.run(ATOMIC_INSTRUCTION)
