"""A treasury on the plain EVM with an operator, an agent, a token and a target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth_abi import encode
from eth_keys.datatypes import PrivateKey
from eth_utils import function_signature_to_4byte_selector, keccak, to_canonical_address

from tests.contracts.plain_evm import OWNER, ZERO, Account, Contract, plain_evm
from tests.contracts.runs.typed_data import hash_typed_data, sign

if TYPE_CHECKING:
    from collections.abc import Sequence

OPERATOR = Account(PrivateKey(b"\x31" * 32))
AGENT = Account(PrivateKey(b"\x32" * 32))
DELEGATE = Account(PrivateKey(b"\x33" * 32))
RECIPIENT = "0x" + "44" * 20
PROTECTED = "0x" + "55" * 20
NATIVE = ZERO
ETHER = 10**18
MAX_STEPS, MAX_WRITES = 10, 5
"""The seed's defaults."""

RUN_SECONDS = 300
NATIVE_CAP, TOKEN_CAP = 10 * ETHER, 1_000
TARGET_CAP = 6 * ETHER
FREELY = 2**256 - 1
"""A threshold that nothing is above."""

TASK = keccak(text="task_1")
RUN, RETRY = keccak(text="run_1"), keccak(text="run_2")
STEP, OTHER_STEP = keccak(text="step-1"), keccak(text="step-2")
TRACE = keccak(text="the dry run's trace")
NO_DATA = keccak(b"")
DRY_RUN_FORM = "DryRun(bytes32 taskId,bytes32 runId,bytes32 digest,bytes32 trace,uint64 expiry)"
OPEN, CLOSED, CANCELLED = 1, 2, 3
"""Members of `RunStatus`."""


def hash_write(step: bytes, target: str, value: int = 0, data: bytes = b"") -> bytes:
    """Return the hash of a write, apart from the contract."""
    types = ["bytes32", "address", "uint256", "bytes32"]
    return keccak(encode(types, [step, target, value, keccak(data)]))


def hash_writes(writes: Sequence[bytes]) -> bytes:
    """Return the digest of writes, apart from the contract."""
    digest = bytes(32)
    for write in writes:
        digest = keccak(digest + write)
    return digest


def transfer_data(to: str, amount: int) -> bytes:
    """Return the calldata of a token's transfer."""
    selector = function_signature_to_4byte_selector("transfer(address,uint256)")
    return selector + encode(["address", "uint256"], [to, amount])


class TreasuryBench:
    """A funded treasury with a policy: wei and a token, a recipient and a target."""

    def __init__(self) -> None:
        self.evm = plain_evm()
        for account in (OPERATOR, AGENT, DELEGATE):
            self.evm.send(account.address, b"", value_wei=100 * ETHER)
        self.token = self.evm.deploy("DemoToken", "Dollar", "USD", 6, 10**9)
        self.peer = self.evm.deploy("RunPeer")
        self.treasury = self.evm.deploy("RunTreasury", OWNER.address, [PROTECTED])
        self.evm.send(self.treasury.address, b"", value_wei=100 * ETHER)
        self.token("transfer", self.treasury.address, 10**6)
        self.treasury("setOperator", OPERATOR.address, True)  # noqa: FBT003 - the ABI has places
        self.treasury("setLimits", MAX_STEPS, MAX_WRITES, False)  # noqa: FBT003
        self.treasury("setAsset", NATIVE, NATIVE_CAP, FREELY)
        self.treasury("setAsset", self.token.address, TOKEN_CAP, FREELY)
        for target in (RECIPIENT, self.peer.address):
            self.treasury("setTargetCap", target, NATIVE, TARGET_CAP)
            self.treasury("setTargetCap", target, self.token.address, TOKEN_CAP)
        for function in ("take(uint256)", "fail(uint256)", "giveBack()", "pull(address,uint256)"):
            self.allow(self.peer, function)

    def allow(self, target: Contract, function: str) -> None:
        selector = function_signature_to_4byte_selector(function)
        self.treasury("setSelector", target.address, selector, True)  # noqa: FBT003

    @property
    def time(self) -> int:
        """The timestamp of the next transaction, in seconds."""
        return self.evm.vm.state.execution_context.timestamp

    def pass_time(self, seconds: int) -> None:
        context: Any = self.evm.vm.state.execution_context
        context._timestamp += seconds  # noqa: SLF001 - the header of one VM

    def open(
        self,
        run: bytes = RUN,
        task: bytes = TASK,
        *,
        agent: str = AGENT.address,
        steps: int = MAX_STEPS,
        writes: int = MAX_WRITES,
        sender: Account = OPERATOR,
    ) -> None:
        """Open a run of the operator."""
        budget = (steps, writes, self.time + RUN_SECONDS)
        self.treasury("openRun", task, run, agent, OPERATOR.address, budget, sender=sender)

    def pay(
        self, amount: int = 1, run: bytes = RUN, step: bytes = STEP, to: str = RECIPIENT
    ) -> Any:  # noqa: ANN401 - what Solidity returns
        return self.treasury("transferNative", run, step, to, amount, sender=AGENT)

    def send_tokens(
        self, amount: int = 1, run: bytes = RUN, step: bytes = STEP, to: str = RECIPIENT
    ) -> Any:  # noqa: ANN401
        arguments = (run, step, self.token.address, to, amount)
        return self.treasury("transferERC20", *arguments, sender=AGENT)

    def call(self, function: str, *arguments: object, value: int = 0, run: bytes = RUN) -> Any:  # noqa: ANN401
        """Call a function of the peer."""
        data = self.peer.artifact.encode_call(function, *arguments)
        where = (run, STEP, self.peer.address, value, data)
        return self.treasury("executeCall", *where, sender=AGENT)

    def sign(
        self,
        writes: Sequence[bytes],
        *,
        run: bytes = RUN,
        expiry: int | None = None,
        signer: Account = OPERATOR,
    ) -> bytes:
        """Sign a dry run, whose expiry is that of a run by default."""
        values = {
            "taskId": TASK,
            "runId": run,
            "digest": hash_writes(writes),
            "trace": TRACE,
            "expiry": self.time + RUN_SECONDS if expiry is None else expiry,
        }
        return sign(signer, hash_typed_data("Treasury", self.treasury, DRY_RUN_FORM, values))

    def confirm(self, writes: Sequence[bytes], run: bytes = RUN) -> None:
        """Confirm writes by the operator's signature; a stranger hands it in."""
        signature, expiry = self.sign(writes, run=run), self.time + RUN_SECONDS
        self.treasury("confirmRun", run, writes, TRACE, expiry, signature)

    def balance(self, address: str) -> int:
        return self.evm.vm.state.get_balance(to_canonical_address(address))

    def status(self, run: bytes = RUN) -> int:
        return int(self.treasury("getRun", run)[0])
