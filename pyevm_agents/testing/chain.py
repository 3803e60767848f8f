"""One chain for one test: accounts, time, contracts, a model that says what it is told to.

    with AgentChain() as chain:
        chain.model.script(use("CounterTool", amount=1), answer("done"))
        agent = chain.deploy("SimpleAgent", …)
        receipt = chain.ask(agent, "Add one")
        steps = chain.steps(receipt["transactionHash"])

Time is the chain's own: block 1 is a second after genesis, each block a second after its parent,
until a test says otherwise. So the same test makes the same blocks, hashes and gas, always.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar
from weakref import WeakSet

from eth_utils import to_checksum_address

from pyevm_agents.agents.revert_reasons import register_errors
from pyevm_agents.agents.trace import extract_agent_steps
from pyevm_agents.errors import ConfigError
from pyevm_agents.models import SwappableModel
from pyevm_agents.node import Keys, Node
from pyevm_agents.node.clock import MAX_TIMESTAMP_SECONDS
from pyevm_agents.node.listeners import NodeListener
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.rpc.session import Session
from pyevm_agents.testing.artifacts import ArtifactFinder
from pyevm_agents.testing.deployment import build_creation, read_deployed_address
from pyevm_agents.testing.genesis_template import get_genesis_template, load_schedule
from pyevm_agents.testing.inputs import (
    agent_input,
    format_value,
    parse_address,
    parse_transaction_hash,
    require_known_names,
    require_text,
    require_whole_number,
)
from pyevm_agents.testing.model_stub import ModelStub
from pyevm_agents.testing.run_log import log, record_runs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eth.abc import BlockHeaderAPI, ComputationAPI

    from pyevm_agents.agents.trace import AgentStep
    from pyevm_agents.chain import MinedBlock
    from pyevm_agents.config.schedule_file import ScheduleFile
    from pyevm_agents.rpc.web3_provider import AgentProvider
    from pyevm_agents.testing.genesis_template import GenesisTemplate
    from pyevm_agents.testing.inputs import AddressLike

T = TypeVar("T")

SEND_SECONDS = 3_600.0
"""How long a send waits for its block: no client gives up here, and a real model may think."""

MAX_BLOCKS = 1_000_000
"""Blocks that `mine` makes at most: each takes a millisecond."""

TRANSACTION_FIELDS = (
    "gas", "value", "nonce", "from", "gasPrice", "maxFeePerGas", "maxPriorityFeePerGas",
    "accessList", "type", "chainId",
)  # fmt: skip
"""What web3.py's transaction may say, but for what `ask` says itself."""

ZERO_ADDRESS = "0x" + "00" * 20
"""Agents that answer at once have nobody to call back."""

_open_chains: WeakSet[AgentChain] = WeakSet()


class AgentChain:
    """A chain at a genesis of its own, closed by `close` or at the end of `with`."""

    def __init__(
        self,
        beginning: GenesisTemplate | None = None,
        *,
        artifacts: ArtifactFinder | None = None,
        schedule: ScheduleFile | Path | str | None = None,
        fork: str | None = None,
    ) -> None:
        """Begin at genesis.

        Input:  what to begin with, None for the default model; where `deploy` looks for contracts,
                None for the folder of the moment and those above it; what inference costs, or the
                file that says it, and Ethereum's fork, None for what `beginning` says.
        Raises: ConfigError: the default model is not installed, the schedule is none, or not for
                this model, or there is no such fork.
        """
        template = get_genesis_template() if beginning is None else beginning
        self.beginning = template.derive(load_schedule(schedule), fork=fork)
        self.artifacts = ArtifactFinder() if artifacts is None else artifacts
        """Where `deploy` looks."""

        self.model = ModelStub(lambda: self.beginning.vocabulary)
        """What answers: scripted by default."""

        self.chain = self.beginning.create_chain(SwappableModel(self.model))
        self.node = Node(self.chain, now=self._get_time, keys=Keys(self.beginning.keys))
        self.service = build_node_service(self.node, send_seconds=SEND_SECONDS)
        self.model.on_change = self.service.forget_faults
        self.accounts: tuple[str, ...] = tuple(map(to_checksum_address, self.node.keys.addresses))
        """Ten accounts with 10,000 ETH each, those of every local network."""

        self._session = Session("test kit")
        self._mined: dict[bytes, tuple[bytes, ComputationAPI]] = {}
        self.node.listeners.add(NodeListener(on_mined=self._add_block, on_reorg=self._drop_blocks))
        record_runs(self.node)
        _open_chains.add(self)

    def __enter__(self) -> Self:
        """Return the chain."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the chain."""
        self.close()

    def close(self) -> None:
        """End the chain and its thread; again does nothing."""
        _open_chains.discard(self)
        self.node.close()

    def request(self, method: str, *params: object) -> Any:  # noqa: ANN401 - what a method answers
        """Answer a request of JSON-RPC: whatever the node has and web3.py does not.

        Raises: RpcError: the method's error, or there is no such method.
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
    def w3(self) -> Any:  # noqa: ANN401 - web3.py is an extra
        """A `web3.Web3` on this chain; the first account is its default."""
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
    ) -> Any:  # noqa: ANN401 - a web3 Contract
        """Deploy a contract with a block's gas; return it as web3.py has it.

        Its errors are explained by name from now on.

        Input:  its name, as `Token` or `Token.sol:Token`, or the path of its artifact; the
                constructor's arguments by position or name, where a contract may stand for its
                address, and one that is called as an option here goes by position; who sends, the
                default account where None; wei; the addresses of libraries by their names.
        Raises: ConfigError: no such contract, or other arguments than the constructor's.
                DeploymentError: the constructor failed. RpcError: the node refuses the transaction.
        """
        if not isinstance(libraries, Mapping | None):
            raise ConfigError(
                f"libraries={format_value(libraries)}: want addresses by the libraries' names, as "
                "{'Name': address}"
            )
        artifact = self.artifacts.find(contract)
        creation = artifact.build_creation_data(arguments, named, libraries or {})
        if artifact.file is not None:  # Those of our own contracts are known.
            register_errors(artifact.abi)
        w3 = self.w3
        transaction = build_creation(
            creation,
            sender=sender or w3.eth.default_account,
            value_wei=value,
            gas=self.node.next_block.build_header().gas_limit,
        )
        sent = self.request("eth_sendTransaction", transaction)
        if not self.has(sent):
            self.mine()
        address = read_deployed_address(artifact.name, self.computation(sent))
        return w3.eth.contract(address=address, abi=artifact.abi)

    def ask(
        self,
        agent: Any,  # noqa: ANN401 - web3's
        question: str,
        *,
        sender: AddressLike | None = None,
        **transaction: object,
    ) -> Any:  # noqa: ANN401 - web3's
        """Run an agent in a transaction; return the receipt. Mines where nothing else does.

        Input:  an agent of the ERC, whose `run` takes one text; the text; who sends, the default
                account where None; what else its transaction is to say: `gas`, `value`, `nonce`.
        Raises: ContractLogicError: it reverts, and the transaction names no gas. ConfigError: that
                is no agent, no text, or nothing that a transaction says.
        """
        require_known_names("ask(…)", ("sender", *TRANSACTION_FIELDS), transaction)
        if not hasattr(agent, "functions"):
            raise ConfigError(
                f"ask({format_value(agent)}, …): give the contract that `deploy` returned"
            )
        if sender is not None:
            transaction["from"] = to_checksum_address(parse_address(sender))
        run_input = agent_input(require_text("ask(agent, …)", question))
        sent = agent.functions.run(run_input, ZERO_ADDRESS).transact(transaction)
        if not self.has(sent):
            self.mine()
        return self.w3.eth.wait_for_transaction_receipt(sent)

    # -- accounts -- #

    @contextmanager
    def as_account(self, account: AddressLike) -> Iterator[str]:
        """Send from an account meanwhile, without its key; it is the default account.

        It pays for its gas: `set_balance` where it has nothing.
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
        """Give an account its balance.

        Raises: ConfigError: it is no whole number of wei.
        """
        require_whole_number("set_balance(account, …)", wei, what="a whole number of wei")
        address = parse_address(account)
        self.node.run_exclusive(
            lambda: self.node.patch_state(lambda state: state.set_balance(address, wei))
        )

    # -- blocks and time -- #

    def mine(self, blocks: int = 1) -> None:
        """Make blocks of what waits.

        Raises: ConfigError: it is no number of blocks.
        """
        require_whole_number("mine(…)", blocks, most=MAX_BLOCKS, what="a number of blocks")

        def mine_blocks() -> None:
            for _ in range(blocks):
                self.node.mine()

        self.node.submit_change(mine_blocks).result()

    @property
    def time(self) -> int:
        """The latest block's time, in seconds since 1970."""
        return self.chain.head.timestamp

    def increase_time(self, seconds: int) -> None:
        """Let the next block be so much later than the latest one.

        Raises: ConfigError: it is no whole number of seconds.
        """
        require_whole_number(
            "increase_time(…)", seconds, most=MAX_TIMESTAMP_SECONDS, what="whole seconds"
        )
        self.node.run_exclusive(lambda: self.node.clock.increase(seconds))

    def set_next_timestamp(self, seconds: int) -> None:
        """Give the next block its time, in seconds since 1970.

        Raises: ConfigError: it is not after the latest block's, or no whole number.
        """
        require_whole_number(
            "set_next_timestamp(…)", seconds, most=MAX_TIMESTAMP_SECONDS, what="whole seconds"
        )
        self.node.run_exclusive(lambda: self.node.clock.set_next(seconds, self.time))

    def _get_time(self) -> float:
        """Tell the world's time as this chain has it: a second goes by with each block."""
        head = self.chain.head
        return self.chain.config.genesis_timestamp_seconds + head.block_number

    # -- going back -- #

    def snapshot(self) -> int:
        """Keep everything as it is now; return a number for `revert`."""
        return self.node.run_exclusive(self.node.history.snapshot)

    def revert(self, snapshot: int) -> None:
        """Go back to a snapshot; it and all later ones are used up.

        Raises: ConfigError: there is no such snapshot.
        """
        self.node.run_exclusive(lambda: self.node.history.revert(snapshot))

    def forget_snapshot(self, snapshot: int) -> None:
        """Keep a snapshot no longer; later ones stay."""
        self.node.run_exclusive(lambda: self.node.history.forget(snapshot))

    @contextmanager
    def isolated(self) -> Iterator[Self]:
        """Undo at the end whatever the chain goes through meanwhile.

        For examples of Hypothesis, which all run in one test, on one chain:

            @given(amount=integers(0, 100))
            def test_it(agent_chain, amount):
                with agent_chain.isolated():
                    …

        So is what the model is told to say; it fails here where it was not all said.
        """
        number, keys, mining = self.snapshot(), self.node.keys, self.node.mining
        impersonated = keys.impersonated, keys.impersonates_all
        default_account = self.w3.eth.default_account
        try:
            with log.track_example(), self.model.script_scope():
                yield self
        finally:
            self.revert(number)
            self.node.run_exclusive(lambda: self.node.set_mining(mining))
            keys.impersonated, keys.impersonates_all = impersonated
            self.w3.eth.default_account = default_account

    # -- what happened -- #

    def computation(self, transaction_hash: bytes | str | Mapping[str, object]) -> ComputationAPI:
        """Return what a transaction did that was mined here.

        Input:  its hash, or its receipt.
        Raises: ConfigError: no block of this chain has it.
        """
        wanted = parse_transaction_hash(transaction_hash)
        if wanted not in self._mined:
            raise ConfigError(
                f"no block of this chain has a transaction 0x{wanted.hex()}; its blocks have "
                f"{len(self._mined)} transactions"
            )
        return self._mined[wanted][1]

    def has(self, transaction_hash: bytes | str) -> bool:
        """Say whether a block of this chain has a transaction."""
        return parse_transaction_hash(transaction_hash) in self._mined

    def steps(self, transaction_hash: bytes | str | Mapping[str, object]) -> tuple[AgentStep, ...]:
        """Return the steps of all agents in a transaction, in order.

        Input:  its hash, or its receipt.
        Raises: ConfigError: no block of this chain has it.
        """
        return extract_agent_steps(self.computation(transaction_hash))

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


def list_open_chains() -> tuple[AgentChain, ...]:
    """Return the chains that are not closed."""
    return tuple(_open_chains)
