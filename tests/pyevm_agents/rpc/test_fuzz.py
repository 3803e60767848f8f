"""Random requests of all methods never hit a bug."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.node import MiningMode, state_dump
from pyevm_agents.rpc.dispatcher import DeferredResponse, Dispatcher
from pyevm_agents.rpc.errors import INTERNAL_ERROR
from pyevm_agents.rpc.methods import anvil_mining, eth_send
from pyevm_agents.rpc.methods.registry import collect_methods
from pyevm_agents.rpc.session import Session
from tests.thinking_node import ThinkingNode

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.samples import Sample

METHODS = collect_methods()
TURNS_OF_A_NODE = 500

ODD: list[object] = [
    *(None, True, False, 0, 1, -1, 2**64, 2**256, 1.5, "", "0x", "0x0", "0x00", "0x1", "0x01"),
    *("latest", "pending", "earliest", "safe", "finalized", "later", "0xzz", "\ud800", "ä", "\0"),
    *("0x" + "f" * 64, "0x" + "0" * 40, "0x" + "ff" * 100, "-0x1", "1", "newHeads", "logs"),
    *([], {}, [[]], [None], [{}], {"": None}, {"a": {"b": []}}),
]
BLOCKS: list[object] = [
    *("latest", "pending", "earliest", "safe", "0x0", "0x1", "0x2", "0x7", "0xffffffff"),
    {"blockNumber": "0x1"},
    {"blockHash": "0x" + "12" * 32},
]
NUMBERS: list[object] = ["0x0", "0x1", "0x2", "0x10", 3, "0xff", "0x5208", "0xffffffffffffffff", 7]
DATA: list[object] = ["0x", "0x00", "0x60006000fd", "0x5f5f5f5f5f305af1", "0xfe", "0x" + "ab" * 40]
TRACERS: list[object] = [
    *({"tracer": name} for name in ("callTracer", "prestateTracer", "4byteTracer", "muxTracer")),
    {"tracer": "prestateTracer", "tracerConfig": {"diffMode": True}},
    {"tracer": "callTracer", "tracerConfig": {"withLog": True, "onlyTopCall": True}},
    {"tracer": "muxTracer", "tracerConfig": {"callTracer": {}, "4byteTracer": None}},
    {"tracer": "flatCallTracer"},
    {"tracer": "{step: function() {}}"},
    {"enableMemory": True, "disableStack": True, "limit": 3},
    {"stateOverrides": {}, "blockOverrides": {"number": "0x9"}},
    *({"txIndex": index} for index in ("0x0", "0x1", "0x7", -1)),
    {"stateOverride": {}},
]


class Fuzz:
    """Generator of valid and invalid requests."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - the same each time
        self.bugs: Counter[str] = Counter()
        self.codes: Counter[object] = Counter()

    def begin(self) -> None:
        """Start a new node."""
        by_hand = self.chance.random() < 0.5
        self.it = ThinkingNode(mining=MiningMode(is_automatic=not by_hand))
        self._dispatcher = Dispatcher(self.it.service)
        self._session = Session("test", lambda _: None)
        it = self.it
        mined = it.ask("eth_getBlockByNumber", "0x1", False)  # noqa: FBT003 - JSON-RPC has places
        self.accounts: list[object] = [it.first, it.second, it.agent, "0x" + "99" * 20]
        self.accounts += ["0x" + "00" * 19 + "19", "0x" + "00" * 20, "0x" + "00" * 19 + "01"]
        self.dump: object = it.ask("anvil_dumpState")
        self.hashes: list[object] = [mined["hash"], *mined["transactions"], "0x" + "77" * 32]

    def end(self) -> None:
        self._session.close()
        self.it.close()

    def pick(self, *lists: list[object]) -> object:
        return self.chance.choice(self.chance.choice([*lists, ODD] if self.rarely() else lists))

    def rarely(self) -> bool:
        return self.chance.random() < 0.15

    def transaction(self) -> object:
        told: dict[str, Callable[[], object]] = {
            "from": lambda: self.pick(self.accounts),
            "to": lambda: self.pick(self.accounts),
            "value": lambda: self.pick(NUMBERS),
            "gas": lambda: self.pick(["0x5208", "0x4c4b40", "0x1c9c380"]),
            "gasPrice": lambda: self.pick(NUMBERS, ["0x77359400"]),
            "maxFeePerGas": lambda: self.pick(["0x77359400", "0x0"]),
            "maxPriorityFeePerGas": lambda: self.pick(NUMBERS),
            "nonce": lambda: self.pick(NUMBERS),
            "data": lambda: self.pick(DATA),
            "input": lambda: self.pick(DATA),
            "type": lambda: self.pick(["0x0", "0x1", "0x2", "0x3", "0x4", "0x5"]),
            "chainId": lambda: self.pick(["0x7a69", "0x1"]),
            "accessList": lambda: [
                {"address": self.pick(self.accounts), "storageKeys": [self.pick(self.hashes)]}
            ],
            "blobVersionedHashes": lambda: ["0x01" + "00" * 31, self.pick(self.hashes)],
            "maxFeePerBlobGas": lambda: self.pick(NUMBERS),
            "authorizationList": lambda: [
                {name: self.pick(NUMBERS) for name in ("chainId", "nonce", "yParity", "r", "s")}
                | {"address": self.pick(self.accounts)}
            ],
        }
        if self.chance.random() < 0.2:
            return self.it.run
        return self.form(told)

    def form(self, told: dict[str, Callable[[], object]]) -> dict[str, object]:
        """Return an object with some of these entries."""
        names = self.chance.sample(list(told), self.chance.randint(0, min(6, len(told))))
        form = {name: told[name]() for name in names}
        if self.rarely():
            form[str(self.pick(ODD))] = self.pick(ODD)
        return form

    def log_filter(self) -> object:
        return self.form(
            {
                "fromBlock": lambda: self.pick(BLOCKS),
                "toBlock": lambda: self.pick(BLOCKS),
                "address": lambda: self.pick(self.accounts, [self.accounts]),
                "topics": lambda: [self.pick(self.hashes), None, [self.pick(self.hashes)]],
                "blockHash": lambda: self.pick(self.hashes),
            }
        )

    def overrides(self) -> object:
        account = self.form(
            {
                "balance": lambda: self.pick(NUMBERS),
                "nonce": lambda: self.pick(NUMBERS),
                "code": lambda: self.pick(DATA),
                "state": lambda: {str(self.pick(self.hashes)): self.pick(self.hashes)},
                "stateDiff": lambda: {str(self.pick(self.hashes)): self.pick(self.hashes)},
                "movePrecompileToAddress": lambda: self.pick(self.accounts),
            }
        )
        return {str(self.pick(self.accounts)): account}

    def block_override(self) -> object:
        return self.form(
            {
                "number": lambda: self.pick(NUMBERS),
                "time": lambda: self.pick(NUMBERS),
                "gasLimit": lambda: self.pick(NUMBERS),
                "feeRecipient": lambda: self.pick(self.accounts),
                "prevRandao": lambda: self.pick(self.hashes),
                "baseFeePerGas": lambda: self.pick(NUMBERS, ["0x" + "f" * 64]),
                "blobBaseFee": lambda: self.pick(NUMBERS, ["0x" + "f" * 64]),
            }
        )

    def call_trace(self) -> object:
        return {
            "stateOverrides": self.overrides(),
            "blockOverrides": self.block_override(),
            "txIndex": self.pick(NUMBERS),
        }

    def simulated(self) -> object:
        calls = [self.transaction() for _ in range(self.chance.randint(0, 3))]
        block = self.form(
            {
                "calls": lambda: calls,
                "stateOverrides": self.overrides,
                "blockOverrides": self.block_override,
            }
        )
        return {"blockStateCalls": [block] * self.chance.randint(0, 2), "validation": self.rarely()}

    def typed_data(self) -> object:
        return {
            "types": {"EIP712Domain": [], "Mail": [{"name": "to", "type": self.pick(["address"])}]},
            "primaryType": self.pick(["Mail"]),
            "domain": self.pick([{}], ODD),
            "message": {"to": self.pick(self.accounts)},
        }

    def argument(self, name: str) -> object:
        fitting: dict[str, Callable[[], object]] = {
            "transaction": self.transaction,
            "call": self.transaction,
            "filter": self.log_filter,
            "options": lambda: self.chance.choice(
                [self.log_filter(), self.pick(TRACERS), self.simulated(), self.call_trace()]
            ),
            "stateOverrides": self.overrides,
            "blockOverride": self.block_override,
            "account": lambda: self.pick(self.accounts),
            "block": lambda: self.pick(BLOCKS),
            "number": lambda: self.pick(BLOCKS),
            "newestBlock": lambda: self.pick(BLOCKS),
            "blockHash": lambda: self.pick(self.hashes),
            "transactionHash": lambda: self.pick(self.hashes),
            "data": lambda: self.pick(DATA),
            "typedData": self.typed_data,
            "requests": lambda: {str(self.pick(self.accounts)): [self.pick(self.hashes)]},
            "storageKeys": lambda: [self.pick(self.hashes), self.pick(NUMBERS)],
            "state": lambda: self.dump,
            "transactions": lambda: [[self.transaction(), 0]],
            "rewardPercentiles": lambda: [0, 50, self.pick([100], ODD)],
        }
        if name in fitting and not self.rarely():
            return fitting[name]()
        pools = (NUMBERS, self.accounts, self.hashes, BLOCKS, DATA, ODD, TRACERS)
        return self.chance.choice(self.chance.choice(pools))

    def request(self) -> dict[str, object]:
        method = METHODS[self.chance.choice(list(METHODS))]
        params: object = [self.argument(name) for name in method.names]
        assert isinstance(params, list)
        if self.rarely():
            params = params[: self.chance.randint(0, len(params))]
        elif self.rarely():
            params = [*params, self.pick(ODD)]
        elif self.rarely():
            params = dict(zip(method.names, params, strict=True))
        return {"jsonrpc": "2.0", "id": 1, "method": method.name, "params": params}

    def turn(self) -> None:
        request = self.request()
        body = json.dumps(request).encode()
        answer = self._dispatcher.handle(body, self._session)
        if isinstance(answer, DeferredResponse):
            answer = answer()
        read: dict[str, Any] = json.loads(answer or b"{}")
        error = read.get("error", {})
        self.codes[error.get("code")] += 1
        # geth also has this code for an invalid simulated transaction: "err: …".
        if error.get("code") == INTERNAL_ERROR and not error["message"].startswith("err: "):
            self.bugs[f"{request['method']}: {error['message']}: {request['params']}"] += 1
        if isinstance(read.get("result"), str) and len(read["result"]) == 66:
            self.hashes = [*self.hashes[-20:], read["result"]]


@pytest.mark.sample(count=1_000, seed=1_000)
# py-evm warns of SELFDESTRUCT.
@pytest.mark.filterwarnings("ignore:SELFDESTRUCT opcode present:DeprecationWarning")
def test_no_answer_is_an_internal_error(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anvil_mining, "MAX_MINED_BLOCKS", 8)
    monkeypatch.setattr(state_dump, "MAX_FILLED_BLOCKS", 8)
    monkeypatch.setattr(eth_send, "MAX_MILLISECONDS", 20)
    fuzz = Fuzz(sample.seed)
    for turn in range(sample.count):
        if turn % TURNS_OF_A_NODE == 0:
            fuzz.begin()
        fuzz.turn()
        if turn % TURNS_OF_A_NODE == TURNS_OF_A_NODE - 1:
            fuzz.end()
    sample.figures.update({"requests": fuzz.codes.total(), "results": fuzz.codes[None]})
    assert not fuzz.bugs
    assert fuzz.codes[None] > sample.count // 4, "hardly anything was executed"
