"""What attackers have: any accounts, loans within a transaction, and the order of blocks.

A sequence is a function of a random generator. It acts by `Blocks`: the honest sign transactions,
the attackers put them between their own, leave them out for a while, and mine blocks anew after
they saw what is in them. `FlashLender` lends all there is for as long as a transaction lasts.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from eth_keys.datatypes import PrivateKey
from eth_utils import keccak, to_canonical_address

from pyevm_agents.abi.bundled import Artifact
from tests.clients.packages import node_program
from tests.contracts.artifact_files import CONTRACTS, artifact_file
from tests.contracts.plain_evm import (
    ZERO,
    Account,
    Contract,
    Evm,
    RevertedError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.samples import Sample

THIEVES = [Account(PrivateKey(bytes([0x70 + n]) * 32)) for n in range(3)]
SELECTOR_BYTES = 4
BLOCK_SECONDS = 12
MOST_WAITS = 3
"""Blocks that attackers can keep an honest transaction out of."""

TAKEN = 0.75
"""Part of the honest transactions that the next block takes."""

TIMELESS = {"balanceOf", "idle", "loanOf", "openLoansOf", "surplusOf", "totalSupply"}
"""Views whose answers transactions alone change."""

MOST_DEPTH = 2
"""Blocks that attackers can mine anew."""

# ---- Sequences


def play_sequences(sample: Sample, sequence: Callable[[random.Random], Counter[str]]) -> None:
    """Play a sample of sequences, each with a generator of its own; report what was counted."""
    outcomes = Counter[str]()
    for number in range(sample.count):
        try:
            outcomes += sequence(random.Random(f"{sample.seed}-{number}"))  # noqa: S311 - a test's
        except Exception as error:
            error.add_note(f"sequence {number} of seed {sample.seed}")
            raise
    sample.figures.update(sequences=sample.count, **dict(sorted(outcomes.items())))


def is_caught(sequence: Callable[[random.Random], object], tries: int, *, seed: int = 0) -> bool:
    """Return whether one of some sequences fails: whether it shows a flaw."""
    for number in range(tries):
        try:
            sequence(random.Random(f"{seed}-{number}"))  # noqa: S311 - a test's
        except (AssertionError, RevertedError):
            return True
    return False


# ---- States


class Checkpoint:
    """A state of an EVM with its time, to go back to any number of times. Views are read apart."""

    def __init__(self, evm: Evm) -> None:
        evm.vm.state.persist()
        evm.reads_apart = True
        self._evm = evm
        self._root = evm.vm.state.state_root
        self._header = deepcopy(_header_fields(evm))

    def restore(self) -> None:
        """Undo everything that happened since."""
        vm: Any = self._evm.vm
        context = vm.state.execution_context
        for name, value in self._header.items():
            setattr(context, name, value)
        vm._state = vm.get_state_class()(vm.chaindb.db, context, self._root)  # noqa: SLF001


def _header_fields(evm: Evm) -> dict[str, Any]:
    context = evm.vm.state.execution_context
    return {name: getattr(context, name) for name in ("_timestamp", "_block_number")} | {
        "_prev_hashes": list(context.prev_hashes)
    }


# ---- Transactions and blocks


@dataclass(frozen=True, kw_only=True)
class Transaction:
    """A signed transaction; what it does depends on the block that takes it."""

    sender: Account
    contract: Contract
    function: str
    arguments: tuple[object, ...] = ()
    value_wei: int = 0
    waited: int = 0
    """Blocks that did not take it."""

    def run(self) -> Any:  # noqa: ANN401 - what Solidity returns
        """Apply it to the state; a refusal is `RevertedError`."""
        return self.contract(
            self.function, *self.arguments, sender=self.sender, value_wei=self.value_wei
        )


@dataclass
class Blocks:
    """A chain whose blocks the attackers order, and of which they replace the last."""

    evm: Evm
    chance: random.Random
    notes: dict[str, Any] = field(default_factory=dict)
    """What a sequence keeps of the chain; a reorganisation takes it back as well."""

    hash_of: Callable[[int], bytes] = lambda number: keccak(number.to_bytes(8))
    before_time: Callable[[], Callable[[], None]] | None = None
    """Called before time passes; what it returns is called after."""

    after_transaction: Callable[[Transaction], None] | None = None
    """Called after each transaction that was not refused."""

    outcomes: Counter[str] = field(default_factory=Counter)
    pool: list[Transaction] = field(default_factory=list)
    """What the honest signed and no block has."""

    _seen: dict[tuple[object, ...], Any] = field(default_factory=dict)
    _mined: list[tuple[Checkpoint, dict[str, Any], list[Transaction]]] = field(default_factory=list)

    def read(self, contract: Contract, function: str, *arguments: object) -> Any:  # noqa: ANN401 - Solidity's
        """Call a view, once for each state and time."""
        time = 0 if function in TIMELESS else self.evm.now
        key = (contract.address, function, repr(arguments), time)
        if key not in self._seen:
            self._seen[key] = contract.read(function, *arguments)
        return self._seen[key]

    def sign(self, *transactions: Transaction) -> None:
        """Let honest accounts send transactions, unless the same ones wait already."""
        waiting = [replace(one, waited=0) for one in self.pool]
        self.pool += [one for one in transactions if one not in waiting]

    def mine(self, attacks: Sequence[Transaction] = ()) -> None:
        """Mine a block: attacks and the honest's transactions, in an order that the attackers like.

        A sender's own transactions keep their order, by their nonces.
        """
        taken: list[Transaction] = []
        left: list[Transaction] = []
        for one in self.pool:
            is_next = one.sender.address not in {other.sender.address for other in left}
            is_taken = one.waited >= MOST_WAITS or self.chance.random() < TAKEN
            (taken if is_next and is_taken else left).append(one)
        before = Checkpoint(self.evm), deepcopy(self.notes), [*taken, *left]
        self._mined = [*self._mined, before][-MOST_DEPTH:]
        self.pool = [replace(one, waited=one.waited + 1) for one in left]
        for one in interleave(self.chance, list(attacks), taken):
            self.attempt(one)
        self.pass_time(BLOCK_SECONDS)

    def attempt(self, transaction: Transaction) -> bool:
        """Apply a transaction that may be refused; count what comes of it."""
        self._seen.clear()
        try:
            transaction.run()
        except RevertedError as refused:
            if refused.error[0] == "Panic":
                raise  # a refusal has a name
            self.outcomes[f"{transaction.function} refused"] += 1
            return False
        self.outcomes[transaction.function] += 1
        if self.after_transaction:
            self.after_transaction(transaction)
        return True

    def pass_time(self, seconds: int) -> None:
        """Go on to the next block, so many seconds later."""
        after = self.before_time() if self.before_time else None
        self.evm.pass_time(seconds, blocks=1, hash_of=self.hash_of)
        if after:
            after()

    def settle(self, seconds: int) -> None:
        """Pass time in which what was mined becomes final."""
        self._mined.clear()
        self.pass_time(seconds)

    def reorganize(self) -> None:
        """Take the last blocks back: the honest's transactions wait again, the others are gone."""
        if not self._mined:
            return
        depth = self.chance.randint(1, len(self._mined))
        for _ in range(depth):
            checkpoint, notes, honest = self._mined.pop()
            known = [replace(one, waited=0) for one in honest]
            later = [one for one in self.pool if replace(one, waited=0) not in known]
            self.pool = [*honest, *later]
        self._seen.clear()
        checkpoint.restore()
        self.notes.clear()
        self.notes.update(notes)
        self.outcomes["reorganisation"] += 1


def interleave(
    chance: random.Random, attacks: list[Transaction], honest: list[Transaction]
) -> list[Transaction]:
    """Return attacks in their order among honest transactions in any order of their senders."""
    senders = [one.sender.address for one in honest]
    queues = {sender: [one for one in honest if one.sender.address == sender] for sender in senders}
    chance.shuffle(senders)
    ordered = [queues[sender].pop(0) for sender in senders]
    order: list[Transaction] = []
    while attacks or ordered:
        is_attack = bool(attacks) and (not ordered or chance.random() < 0.5)
        order.append((attacks if is_attack else ordered).pop(0))
    return order


# ---- Loans within a transaction


@dataclass(frozen=True)
class Call:
    """A call of the attackers' contract, which may fail."""

    target: Contract
    function: str
    arguments: tuple[object, ...] = ()
    value_wei: int = 0
    all_of: Contract | None = None
    """The token whose whole balance is the first argument, in place of the one here."""

    def encoded(self) -> tuple[object, ...]:
        """Return `FlashBorrower.Call`."""
        data = self.target.artifact.encode_call(self.function, *self.arguments)
        token = self.all_of.address if self.all_of else ZERO
        return self.target.address, self.value_wei, data, token, SELECTOR_BYTES


class Gang:
    """The attackers' accounts, their contract, and who lends to it."""

    def __init__(self, evm: Evm) -> None:
        self.lender = evm.deploy("FlashLender")
        self.contract = evm.deploy("FlashBorrower")
        for one in THIEVES:
            evm.vm.state.set_balance(to_canonical_address(one.address), 10**24)

    @property
    def addresses(self) -> list[str]:
        return [*(one.address for one in THIEVES), self.contract.address]

    def act(self, *calls: Call, sender: Account = THIEVES[0], value_wei: int = 0) -> Transaction:
        """Return the transaction in which the contract makes calls."""
        encoded = [one.encoded() for one in calls]
        return Transaction(
            sender=sender,
            contract=self.contract,
            function="act",
            arguments=(encoded,),
            value_wei=value_wei,
        )

    def borrow(
        self, token: Contract | None, amount: int, *calls: Call, sender: Account = THIEVES[0]
    ) -> Transaction:
        """Return the transaction in which the contract makes calls with a loan.

        Input:
            token: what is lent; None for wei.
        """
        encoded = [one.encoded() for one in calls]
        address = token.address if token else ZERO
        return Transaction(
            sender=sender,
            contract=self.contract,
            function="borrow",
            arguments=(self.lender.address, address, amount, encoded),
        )


# ---- Flawed copies


@dataclass(frozen=True)
class Flaw:
    """What a copy of a contract has in place of some of its lines."""

    source: str
    """A file below `contracts/`."""

    edits: tuple[tuple[str, str], ...]
    """Text that the source has once, and what stands there in the copy."""

    contract: str = ""
    """The contract; by default that of the file, else one that inherits from it."""

    @property
    def name(self) -> str:
        return self.contract or self.source.rpartition("/")[2].removesuffix(".sol")


@cache
def compile_flawed(flaw: Flaw) -> Artifact:
    """Compile a flawed copy.

    Raises: AssertionError if the source has a text not once, or the copy does not compile.
    """
    source = f"contracts/{flaw.source}"
    text = (CONTRACTS / flaw.source).read_text()
    for before, after in flaw.edits:
        assert text.count(before) == 1, f"{source}: {before}"
        text = text.replace(before, after)
    if not (CONTRACTS / "node_modules" / "solc").is_dir():
        pytest.skip("no contracts/node_modules/solc: run npm ci in contracts/")
    main = artifact_file(flaw.name)["sourceName"]
    done = subprocess.run(
        [node_program(), "-e", COMPILE, CONTRACTS.parent],
        input=json.dumps({"main": main, "source": source, "text": text}),
        capture_output=True,
        text=True,
        check=True,
    )
    output = json.loads(done.stdout)
    assert main in output.get("contracts", {}), output["errors"]
    compiled = output["contracts"][main][flaw.name]
    return Artifact(
        name=flaw.name,
        abi=tuple(compiled["abi"]),
        bytecode=bytes.fromhex(compiled["evm"]["bytecode"]["object"]),
    )


def with_flaw(evm: Evm, flaw: Flaw | None) -> Evm:
    """Let an EVM deploy a flawed copy in place of the contract; return it."""
    if flaw:
        evm.copies[flaw.name] = compile_flawed(flaw)
    return evm


COMPILE = """
const [root] = process.argv.slice(1), fs = require('fs');
const solc = require(root + '/contracts/node_modules/solc');
const { main, source, text } = JSON.parse(fs.readFileSync(0));
const at = (path) => root + '/' + (path.startsWith('@') ? 'contracts/node_modules/' : '') + path;
const settings = {
  evmVersion: 'prague', metadata: { appendCBOR: false, bytecodeHash: 'none' },
  optimizer: { enabled: true, runs: 200 },
  outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
};
const read = (path) => (path === source ? text : fs.readFileSync(at(path), 'utf8'));
const input = { language: 'Solidity', sources: { [main]: { content: read(main) } }, settings };
const files = { import: (path) => ({ contents: read(path) }) };
process.stdout.write(solc.compile(JSON.stringify(input), files));
"""
