"""A chain for tests: accounts, time, contracts, and a model that a test scripts.

    with AgentChain() as chain:
        chain.model.script(use("CounterTool", amount=1), answer("done"))
        agent = chain.deploy("SimpleAgent", …)
        receipt = chain.ask(agent, "Add one")
        steps = chain.steps(receipt["transactionHash"])

Time is the chain's own: each block is a second after the parent until a test sets another time. The
same test always makes the same blocks, hashes and gas.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import contextmanager
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any, Self, cast

from eth.exceptions import VMError
from eth_utils import to_canonical_address, to_checksum_address

from pyevm_agents.abi.artifacts import describe_contract
from pyevm_agents.agents.trace import extract_agent_steps
from pyevm_agents.chain import Call
from pyevm_agents.chain.calls import BlockOverride
from pyevm_agents.chain.fork_setup import choose_hardfork
from pyevm_agents.config import DEFAULT_FORK, MAX_TIMESTAMP_SECONDS
from pyevm_agents.errors import ConfigError, EngineFault
from pyevm_agents.models import SwappableModel
from pyevm_agents.node import Keys, Node
from pyevm_agents.node.listeners import NodeListener
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.rpc.session import Session
from pyevm_agents.testing.agent_tools import list_agent_tools
from pyevm_agents.testing.artifacts import ArtifactFinder
from pyevm_agents.testing.deployment import build_creation, read_deployed_address
from pyevm_agents.testing.genesis_template import (
    get_genesis_template,
    load_numeric_models,
    load_schedule,
)
from pyevm_agents.testing.inputs import (
    build_agent_input,
    format_value,
    parse_address,
    parse_transaction_hash,
    require_known_names,
    require_text,
    require_whole_number,
)
from pyevm_agents.testing.model_stub import ModelStub
from pyevm_agents.testing.run_log import (
    MinedRun,
    build_run,
    is_out_of_gas,
    log,
    open_sources,
    record_runs,
)
from pyevm_agents.vm import RuleError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from eth.abc import BlockHeaderAPI, ComputationAPI, SignedTransactionAPI
    from eth_typing import Address, ChecksumAddress
    from web3 import Web3
    from web3.contract import Contract
    from web3.types import TxParams, TxReceipt

    from precompiles.language_model import LanguageModel
    from pyevm_agents.agents.trace import AgentStep
    from pyevm_agents.chain import MinedBlock
    from pyevm_agents.config.schedule_file import ScheduleFile
    from pyevm_agents.models.numeric.catalogue import NamedModels
    from pyevm_agents.rpc.web3_provider import AgentProvider
    from pyevm_agents.testing.genesis_template import GenesisTemplate
    from pyevm_agents.testing.inputs import AddressLike
    from pyevm_agents.vm import ForkBlock

warnings = logging.getLogger(__name__)

SEND_SECONDS = 3_600.0
"""Seconds that a send waits for its block: a model with weights may take minutes."""

MAX_BLOCKS = 1_000_000
"""The most blocks that one `mine` makes: each takes a millisecond."""

TRANSACTION_FIELDS = (
    "gas", "value", "nonce", "from", "gasPrice", "maxFeePerGas", "maxPriorityFeePerGas",
    "accessList", "type", "chainId",
)  # fmt: skip
"""Fields of web3.py's transactions, except `to` and `data`, which `ask` sets."""

AGENT_FUNCTIONS = frozenset({"agentExecutorContract", "basePrompt", "getTools", "modelId"})
"""Functions of the ERC's agent that its tool lacks. Both have `run`."""

ZERO_ADDRESS = "0x" + "00" * 20
"""The callback address of `run`: agents that answer in the same transaction call nobody back."""


def _open_fork(
    genesis: GenesisTemplate, url: str | None, block_number: int | None
) -> ForkBlock | None:
    """Open the block that a chain continues, if any."""
    if url is not None:
        return genesis.open_fork(require_text("fork_url=…", url), block_number)
    if block_number is not None:
        raise ConfigError(
            f"fork_block_number={block_number}: must be with fork_url, the URL of a node"
        )
    return None


class AgentChain:
    """A chain with its own genesis, or a fork of a live chain.

    Closed by `close` or at the end of `with`.
    """

    def __init__(  # noqa: PLR0913 - keyword arguments
        self,
        genesis: GenesisTemplate | None = None,
        *,
        artifacts: ArtifactFinder | None = None,
        schedule: ScheduleFile | Path | str | None = None,
        fork: str | None = None,
        fork_url: str | None = None,
        fork_block_number: int | None = None,
        numeric_models: NamedModels | None = None,
        registries: bool | str | None = None,
    ) -> None:
        """Start a chain at genesis, or at a block of a live chain.

        A fork of a live chain has the live chain's ID, accounts and contracts. The state root of
        the fork's own blocks is not Ethereum's: docs/architecture.md#fork-is-an-overlay.

        Input:  the genesis, with the model whose tokens and prices apply, None for the default
                model's; the finder of compiled contracts, None to search the working folder and
                those above; the gas schedule or its file, None for that of the genesis; Ethereum's
                fork, None for that of the genesis or of the live chain's block; the URL of a node
                of a live chain, None for a chain with its own genesis; the number of the block to
                continue, None for the latest when the process first asks; the numeric models at
                0x1a, None for those of the genesis: files or `NumericFile`s by name, such as
                {"forecast": "forecast.onnx"}, or names of shipped models, such as ["sentiment"];
                whether genesis has ERC-8004's registries at the addresses on testnets, or "mainnet"
                for those on mainnets, None for the genesis' choice.
        Raises: ConfigError: the default model is not installed, the schedule is invalid or not for
                this model, the fork is unknown, a numeric model's file can't be read or is invalid,
                or the name is taken; a fork of a live chain with registries. RemoteFault: the node
                of the live chain does not answer.
        """
        template = get_genesis_template() if genesis is None else genesis
        if registries and fork_url is not None:
            raise ConfigError(
                f"registries={registries!r}: must be without fork_url, as a fork has the contracts "
                "of its live chain"
            )
        template = template.derive(
            load_schedule(schedule),
            fork=fork,
            numeric_models=load_numeric_models(numeric_models),
            registries=registries,
        )
        block = _open_fork(template, fork_url, fork_block_number)
        if block is not None and fork is None and template.config.fork == DEFAULT_FORK:
            template = template.derive(fork=choose_hardfork(block.origin, block.header))
        self.genesis = template
        """The genesis, and the vocabulary and weights of its model."""

        self.artifacts = ArtifactFinder() if artifacts is None else artifacts
        """The finder of the contracts that `deploy` deploys."""

        self.model = ModelStub(lambda: self.genesis.vocabulary)
        """The model of the chain: a stub that a test scripts."""

        self.chain = self.genesis.create_chain(SwappableModel(self.model), block)
        self.node = Node(self.chain, now=lambda: 0.0, keys=Keys(self.genesis.keys))
        self.service = build_node_service(self.node, send_seconds=SEND_SECONDS, call_seconds=inf)
        self.model.on_change = self.service.forget_faults
        self.accounts: tuple[ChecksumAddress, ...] = tuple(
            map(to_checksum_address, self.node.keys.addresses)
        )
        """Ten accounts with 10,000 ETH each: those of Foundry's and Hardhat's local networks."""

        self._session = Session("test kit")
        self._names: dict[bytes, str] = {}
        self._mined: dict[bytes, tuple[bytes, ComputationAPI]] = {}
        self.node.listeners.add(
            NodeListener(
                on_mined=self._add_block, on_reorg=self._drop_blocks, on_warning=warnings.warning
            )
        )
        record_runs(self.node, source=self)
        open_sources.add(self)

    def __enter__(self) -> Self:
        """Return the chain."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the chain."""
        self.close()

    def close(self) -> None:
        """Close the chain and stop the thread. A second call does nothing."""
        open_sources.discard(self)
        self.node.close()

    def request(self, method: str, *params: object) -> Any:  # noqa: ANN401 - what a method answers
        """Send a JSON-RPC request to the node; return the result.

        Raises: RpcError: the method returned an error, or does not exist.
        """
        return self.service.call(method, params, self._session)

    # -- web3.py -- #

    @cached_property
    def provider(self) -> AgentProvider:
        """web3.py's provider of this chain.

        Raises: ConfigError: web3.py is not installed.
        """
        try:
            from pyevm_agents.testing.web3_connection import AgentTestProvider  # noqa: PLC0415 - as above
        except ModuleNotFoundError as error:
            raise ConfigError(
                f"web3.py is not installed ({error}): pip install 'pyevm-agents[test]'"
            ) from error
        return AgentTestProvider(self.service, self.model)

    @cached_property
    def w3(self) -> Web3:
        """A `web3.Web3` on this chain; the default account is the first one.

        Raises: ConfigError: web3.py is not installed.
        """
        provider = self.provider
        from pyevm_agents.testing.web3_connection import connect_web3  # noqa: PLC0415 - as above

        return connect_web3(self, provider)

    # -- contracts -- #

    def deploy(
        self,
        contract: str | Path,
        /,
        *arguments: object,
        sender: AddressLike | None = None,
        value: int = 0,
        libraries: Mapping[str, AddressLike] | None = None,
        **named: object,
    ) -> Contract:
        """Deploy a contract with the highest gas limit; return a web3.py contract.

        Traces and reports show the contract's name, and decode the contract's errors, from now on.

        Input:  the contract's name, `Token` or `Token.sol:Token`, or the path of an artifact; the
                constructor's arguments by position or by name, a contract in place of an address;
                the sender, None for the default account; the value in wei; addresses of libraries
                by name. A constructor argument that is named like one of these options is given by
                position.
        Raises: ConfigError: the contract is unknown, or the arguments are not the constructor's.
                DeploymentError: the constructor failed. RpcError: the node rejected the
                transaction.
        Warns:  StaleArtifactWarning: a source file changed after the compilation.
        """
        if not isinstance(libraries, Mapping | None):
            raise ConfigError(
                f"libraries={format_value(libraries)}: must be a mapping of addresses by library "
                "name, such as {'Name': address}"
            )
        artifact = self.artifacts.find(contract)
        creation = artifact.build_creation_data(arguments, named, libraries or {})
        self.chain.known_contracts.add(describe_contract(artifact.name, artifact.abi))
        w3 = self.w3
        transaction = build_creation(
            creation,
            sender=sender or w3.eth.default_account,
            value_wei=value,
            gas=self.node.max_transaction_gas,
        )
        sent = self.request("eth_sendTransaction", transaction)
        if not self.has(sent):
            self.mine()
        address = read_deployed_address(
            artifact.name, self.computation(sent), self.chain.known_contracts
        )
        self._names[to_canonical_address(address)] = artifact.name
        return w3.eth.contract(address=address, abi=artifact.abi)

    def ask(
        self,
        agent: Contract,
        question: str,
        *,
        sender: AddressLike | None = None,
        **transaction: object,
    ) -> TxReceipt:
        """Run an agent in a transaction; return the receipt. A block is mined if mining is manual.

        Input:  a contract with the ERC's `run`, of either version, which takes one text; the text;
                the sender, None for the default account; fields of the transaction: `gas`, `value`,
                `nonce`, …
        Raises: ContractLogicError: the transaction reverted, and has no `gas`. With `gas`, the
                transaction is mined with status 0. ConfigError: not a contract, or a tool's; the
                question is not a text, or a field is unknown.
        """
        require_known_names("ask(…)", ("sender", *TRANSACTION_FIELDS), transaction)
        if not hasattr(agent, "functions"):
            raise ConfigError(
                f"ask({format_value(agent)}, …): must be a contract that `deploy` returned"
            )
        if not AGENT_FUNCTIONS & {entry.get("name") for entry in agent.abi}:
            raise ConfigError(
                f"ask({format_value(agent.address)}, …): must be an agent; its ABI has none of "
                f"{', '.join(sorted(AGENT_FUNCTIONS))}"
            )
        if sender is not None:
            transaction["from"] = to_checksum_address(parse_address(sender))
        run_input = build_agent_input(agent, require_text("ask(agent, …)", question))
        sent = agent.functions.run(run_input, ZERO_ADDRESS).transact(cast("TxParams", transaction))
        if not self.has(sent):
            self.mine()
        return self.w3.eth.wait_for_transaction_receipt(sent)

    # -- accounts -- #

    @contextmanager
    def as_account(self, account: AddressLike) -> Iterator[str]:
        """Impersonate an account inside of `with`, as the default account; no key is needed.

        The account pays for gas: call `set_balance` for an account without balance.
        """
        address = parse_address(account)
        keys, w3 = self.node.keys, self.w3
        was_impersonated, before = address in keys.impersonated, w3.eth.default_account
        self.node.run_exclusive(lambda: keys.impersonate(address))
        w3.eth.default_account = to_checksum_address(address)
        try:
            yield to_checksum_address(address)
        finally:
            w3.eth.default_account = before
            if not was_impersonated:
                self.node.run_exclusive(lambda: keys.stop_impersonating(address))

    def set_balance(self, account: AddressLike, wei: int) -> None:
        """Set the balance of an account.

        Raises: ConfigError: the balance is not a whole number of wei.
        """
        require_whole_number("set_balance(account, …)", wei, what="a whole number of wei")
        address = parse_address(account)
        self.node.run_exclusive(
            lambda: self.node.patch_state(lambda state: state.set_balance(address, wei))
        )

    # -- blocks and time -- #

    def mine(self, blocks: int = 1) -> None:
        """Mine blocks: the pending transactions go into the first one that has room.

        Raises: ConfigError: the number of blocks is invalid.
        """
        require_whole_number("mine(…)", blocks, most=MAX_BLOCKS, what="a number of blocks")

        def mine_blocks() -> None:
            for _ in range(blocks):
                self.node.mine()

        self.node.submit_change(mine_blocks).result()

    @property
    def time(self) -> int:
        """The latest block's timestamp, in Unix seconds."""
        return self.chain.head.timestamp

    def increase_time(self, seconds: int) -> None:
        """Move the clock forward: the next block is this many seconds after the latest one.

        Raises: ConfigError: the number of seconds is invalid.
        """
        require_whole_number(
            "increase_time(…)", seconds, most=MAX_TIMESTAMP_SECONDS, what="whole seconds"
        )
        self.node.run_exclusive(lambda: self.node.clock.increase(seconds))

    def set_next_timestamp(self, seconds: int) -> None:
        """Set the next block's timestamp, in Unix seconds.

        Raises: ConfigError: not after the latest block's, or not a whole number.
        """
        require_whole_number(
            "set_next_timestamp(…)", seconds, most=MAX_TIMESTAMP_SECONDS, what="whole seconds"
        )
        self.node.run_exclusive(lambda: self.node.clock.set_next(seconds))

    # -- snapshots -- #

    def snapshot(self) -> int:
        """Take a snapshot of the chain; return its number for `revert`."""
        return self.node.run_exclusive(self.node.history.snapshot)

    def revert(self, snapshot: int) -> None:
        """Roll the chain back to a snapshot, which is deleted with all later ones.

        Raises: ConfigError: the snapshot does not exist.
        """
        self.node.run_exclusive(lambda: self.node.history.revert(snapshot))

    def forget_snapshot(self, snapshot: int) -> None:
        """Delete a snapshot; later ones stay."""
        self.node.run_exclusive(lambda: self.node.history.forget(snapshot))

    @contextmanager
    def isolated(self) -> Iterator[Self]:
        """Run one example on this chain: verify the script, then roll everything back.

        For examples of Hypothesis, which all run in one test, on one chain:

            @given(amount=integers(0, 100))
            def test_it(agent_chain, amount):
                with agent_chain.isolated():
                    …

        Raises: ScriptError: the example did not use up the script.
        """
        with log.track_example(), self._rolled_back(), self.model.script_scope():
            yield self

    @contextmanager
    def rolled_back(self) -> Iterator[Self]:
        """Roll back at the end: blocks, state, time, impersonation, mining mode, and the script.

        For a test on a chain of a wider scope; the script is not verified: call `model.verify()`.
        """
        with self._rolled_back(), self.model.script_scope(is_verified=False):
            yield self

    @contextmanager
    def _rolled_back(self) -> Iterator[None]:
        number, keys, mining = self.snapshot(), self.node.keys, self.node.mining
        impersonated = keys.impersonated, keys.impersonates_all
        default_account, names = self.w3.eth.default_account, dict(self._names)
        try:
            yield
        finally:
            self.revert(number)
            self._names = names
            self.node.run_exclusive(lambda: self.node.set_mining(mining))
            keys.impersonated, keys.impersonates_all = impersonated
            self.w3.eth.default_account = default_account

    # -- transactions and agents -- #

    @property
    def names(self) -> Mapping[bytes, str]:
        """The names under which `deploy` deployed contracts, by address."""
        return self._names

    def computation(self, transaction_hash: bytes | str | Mapping[str, object]) -> ComputationAPI:
        """Return py-evm's computation of a transaction that was mined here.

        Input:  the transaction's hash or receipt.
        Raises: ConfigError: no block of this chain has the transaction.
        """
        wanted = parse_transaction_hash(transaction_hash)
        if wanted not in self._mined:
            raise ConfigError(
                f"no block of this chain has a transaction 0x{wanted.hex()}; its blocks have "
                f"{len(self._mined)} transactions"
            )
        return self._mined[wanted][1]

    def has(self, transaction_hash: bytes | str) -> bool:
        """Return whether a block of this chain has a transaction."""
        return parse_transaction_hash(transaction_hash) in self._mined

    def steps(self, transaction_hash: bytes | str | Mapping[str, object]) -> tuple[AgentStep, ...]:
        """Return the steps of all agents in a transaction, in order.

        Input:  the transaction's hash or receipt.
        Raises: ConfigError: no block of this chain has the transaction.
        """
        return extract_agent_steps(self.computation(transaction_hash), self.chain.known_contracts)

    def find_mined_run(self, transaction_hash: bytes) -> MinedRun | None:
        """Return the agent run of a transaction; None if in no block of this chain."""
        location = self.chain.find_transaction(transaction_hash)
        if location is None or transaction_hash not in self._mined:
            return None
        (record, index), (block_hash, computation) = location, self._mined[transaction_hash]
        before = record.receipts[index - 1].gas_used if index else 0
        gas_used = record.receipts[index].gas_used - before
        run = build_run(computation, transaction_hash, gas_used, self, self.chain.known_contracts)
        return MinedRun(run=run, block_hash=block_hash)

    def describe_needed_gas(self, transaction_hash: bytes) -> str | None:
        """Return a sentence about the gas limit with which a transaction would have succeeded.

        None if unknown: the transaction is not the first of its block, or needs generations of a
        model that is not scripted.
        """
        location, model = self.chain.find_transaction(transaction_hash), self.model.copy()
        if location is None or location[1] or model is None:
            return None
        block = location[0].block
        try:
            gas = self._estimate_gas(block.transactions[0], block.header, model)
        except (VMError, RuleError, EngineFault):
            return None
        if gas is None:
            limit = self.chain.fork.cap_gas(block.header.gas_limit)
            return f"the highest gas limit, {limit:,}, would not have been enough"
        return f"a gas limit of {gas:,} would have been enough"

    def list_agent_tools(self, agents: Iterable[Address]) -> tuple[str, ...]:
        """Return the names of the tools of agents, and of the agents among these tools."""
        return list_agent_tools(self.chain, agents)

    def _estimate_gas(
        self, transaction: SignedTransactionAPI, header: BlockHeaderAPI, model: LanguageModel
    ) -> int | None:
        """Estimate the gas of a block's first transaction, with another model.

        Output: None if the highest gas limit is too low.
        Raises: VMError: the transaction fails for another reason.
        """
        call = Call(
            to=transaction.to or None,
            sender=transaction.sender,
            data=transaction.data,
            value_wei=transaction.value,
            gas=self.chain.fork.cap_gas(header.gas_limit),
        )
        context = BlockOverride(
            number=header.block_number,
            timestamp_seconds=header.timestamp,
            gas_limit=header.gas_limit,
        )
        with self.swap_model(model):
            parent = self.chain.header_by_hash(header.parent_hash)
            result = self.chain.call(call, header=parent, block=context)
            if result.error is not None and is_out_of_gas(result.computation):
                return None
            return self.chain.estimate_gas(call, header=parent, block=context)

    @contextmanager
    def swap_model(self, model: LanguageModel) -> Iterator[None]:
        """Generate with another model inside of `with`, in place of the stub."""
        self.model.on_change()
        before = [
            (swappable, swappable.swap(model))
            for swappable in self.chain.models.values()
            if isinstance(swappable, SwappableModel)
        ]
        try:
            yield
        finally:
            for swappable, previous in before:
                swappable.swap(previous)

    def _add_block(self, mined: MinedBlock) -> None:
        for transaction, computation in zip(
            mined.block.transactions, mined.computations, strict=True
        ):
            self._mined[bytes(transaction.hash)] = (bytes(mined.block.hash), computation)

    def _drop_blocks(self, headers: list[BlockHeaderAPI]) -> None:
        gone = {bytes(header.hash) for header in headers}
        self._mined = {
            tx_hash: entry for tx_hash, entry in self._mined.items() if entry[0] not in gone
        }
