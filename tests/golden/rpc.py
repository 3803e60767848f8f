"""JSON-RPC: methods with their parameters, codes of errors, and answers on small chains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth_utils import to_checksum_address, to_hex

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS, DEVELOPMENT_BALANCE_WEI, DEVELOPMENT_KEY
from pyevm_agents.errors import EngineFault
from pyevm_agents.model_registry.profiles import build_model_profile
from pyevm_agents.models import ScriptedModel, SwappableModel, answer
from pyevm_agents.node import DEFAULT_MNEMONIC, Keys, Node
from pyevm_agents.node.keys import derive_keys
from pyevm_agents.rpc import errors
from pyevm_agents.rpc import errors as failures
from pyevm_agents.rpc.errors import RpcError
from pyevm_agents.rpc.method_table import OptionalParam
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.rpc.session import Session
from pyevm_agents.rpc.unsupported import UNSUPPORTED_METHODS
from pyevm_agents.scenarios.wallet import WalletDemo
from pyevm_agents.simulation import validation
from pyevm_agents.tracing.registry import TRACERS
from scripts.list_methods import collect_all
from tests.byte_model import PROFILE, ByteModel
from tests.golden.json_values import Json, abbreviate, structure_of
from tests.pyevm_agents.rpc.contracts_to_trace import CALLER, CODES, COUNTER, REVERTING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from precompiles.language_model import GenerationRequest, ModelProfile
    from pyevm_agents.models import Vocabulary
    from pyevm_agents.rpc.method_table import RpcMethod
    from pyevm_agents.rpc.service import NodeService

FIRST = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
SECOND = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
START_SECONDS = 1_800_000_000
DEPOSIT = ' Deposit.\nAction: DeployTool\nAction Input: {"asset": "USDC", "amount": 10}'
DONE = " I now know the final answer\nFinal Answer: Done."
HASH, ZERO_HASH = "0x" + "12" * 32, "0x" + "00" * 32

OF_THIS_MACHINE = frozenset(
    {"web3_clientVersion", "anvil_nodeInfo", "anvil_metadata", "hardhat_metadata"}
)
"""Methods whose values tell of versions and of the machine: their structure counts."""


def collect_rpc(vocabulary: Vocabulary) -> Mapping[str, object]:
    """Return everything that a client sends and reads."""
    methods = collect_all()
    plain = {**_plain_answers(), **_development_answers()}
    agents = _agent_answers(vocabulary)
    return {
        "methods": {name: _method(one) for name, one in methods.items()},
        "methods of other nodes": dict(UNSUPPORTED_METHODS),
        "codes of errors": {
            "no JSON": errors.PARSE_ERROR,
            "no request": errors.INVALID_REQUEST,
            "no such method": errors.METHOD_NOT_FOUND,
            "invalid parameters": errors.INVALID_PARAMS,
            "a bug": errors.INTERNAL_ERROR,
            "the host failed": errors.RESOURCE_UNAVAILABLE,
            "a limit": errors.LIMIT_EXCEEDED,
            "server": failures.SERVER_ERROR,
            "reverted": failures.EXECUTION_REVERTED,
            "simulation: nonce too low": validation.NONCE_TOO_LOW,
            "simulation: nonce too high": validation.NONCE_TOO_HIGH,
            "simulation: intrinsic gas": validation.INTRINSIC_GAS,
            "simulation: insufficient funds": validation.INSUFFICIENT_FUNDS,
            "simulation: block gas limit": validation.BLOCK_GAS_LIMIT,
            "simulation: block numbers": validation.BLOCK_NUMBERS,
            "simulation: timestamps": validation.BLOCK_TIMESTAMPS,
            "simulation: size of init code": validation.INITCODE_SIZE,
            "simulation: too many blocks": validation.TOO_MANY_BLOCKS,
        },
        "tracers": [*TRACERS],
        "answers": plain,
        "answers about agents": agents,
        "methods that no answer is of": sorted(
            methods.keys() - {_name_of(question) for question in [*plain, *agents]}
        ),
    }


def _name_of(question: str) -> str:
    return question.partition("(")[0].partition(" ")[0]


# -- parameters -- #

SAMPLES: Mapping[str, object] = {
    "null": None,
    "true": True,
    "1": 1,
    "-1": -1,
    "1.5": 1.5,
    '""': "",
    '"text"': "text",
    '"7"': "7",
    '"0x"': "0x",
    '"0x1"': "0x1",
    '"0x01"': "0x01",
    "64 bits and one": hex(2**64),
    "an address": FIRST,
    "an address of a wrong checksum": "0xF39fd6e51aad88f6f4ce6ab8827279cfffb92266",
    "a hash": HASH,
    '"latest"': "latest",
    "{}": {},
    "{blockHash}": {"blockHash": HASH},
    "{from, to}": {"from": FIRST, "to": SECOND},
    "{unknown}": {"noSuchField": 1},
    "[]": [],
    '["0x1"]': ["0x1"],
    '["trace"]': ["trace"],
    "[hash]": [HASH],
}
"""Values by which readers of parameters are told apart."""


def _method(method: RpcMethod) -> Mapping[str, object]:
    """Return a method's parameters: names, and which values each takes."""
    parameters = []
    for parameter, name in zip(method.parameters, method.names, strict=True):
        is_optional = isinstance(parameter, OptionalParam)
        read = parameter.parse if isinstance(parameter, OptionalParam) else parameter
        taken = [told for told, value in SAMPLES.items() if _takes(read, value)]
        parameters.append({"name": name, "required": not is_optional, "takes": ", ".join(taken)})
    return {"parameters": parameters, "is quick": method.is_quick}


def _takes(read: Any, value: object) -> bool:  # noqa: ANN401 - a reader of the table
    try:
        read(value, "value")
    except RpcError:
        return False
    return True


# -- answers of a node without a model -- #


def _kept(told: Json) -> Json:
    """Return an answer with its long parts cut, without how long something took."""
    return abbreviate(_untimed(told))


def _untimed(value: Json) -> Json:
    if isinstance(value, list):
        return [_untimed(item) for item in value]
    if isinstance(value, dict):
        return {
            key: structure_of(item) if key == "seconds" else _untimed(item)
            for key, item in value.items()
        }
    return value


class _Asked:
    """A node, and its responses."""

    def __init__(self, node: Node, service: NodeService) -> None:
        self.node = node
        self._service = service
        self.messages: list[Json] = []
        self._session = Session("golden", self.messages.append)
        self.answers: dict[str, Json] = {}

    def ask(self, method: str, *params: object) -> Json:
        return self._service.call(method, list(params), self._session)

    def keep(self, method: str, *params: object, case: str = "") -> Json:
        """Send a request; keep the result or the error."""
        try:
            told = self.ask(method, *params)
            kept = structure_of(told) if method in OF_THIS_MACHINE else _kept(told)
        except RpcError as error:
            told = None
            kept = {"code": error.code, "message": error.message, "data": abbreviate(error.data)}
        question = f"{method} {case}".rstrip()
        assert question not in self.answers, question
        self.answers[question] = kept
        return told

    def close(self) -> None:
        self._session.close()
        self.node.close()


def _plain_node() -> _Asked:
    keys = Keys(derive_keys(DEFAULT_MNEMONIC, 3))
    accounts = {one: GenesisAccount(balance_wei=10_000 * 10**18) for one in keys.addresses}
    accounts |= {
        at: GenesisAccount(code=code, balance_wei=1_000, nonce=1) for at, code in CODES.items()
    }
    chain = Chain(ChainConfig(), accounts=accounts)
    start = chain.head.timestamp
    node = Node(chain, now=lambda: START_SECONDS, keys=keys, since_seconds=start)
    return _Asked(node, build_node_service(node, send_seconds=240))


def _plain_answers() -> Mapping[str, Json]:
    asked = _plain_node()
    _subscribe(asked)
    token, sent = _transact(asked)
    _ask_about_chain(asked, token, sent)
    _ask_about_blocks(asked, sent)
    _ask_for_calls(asked, token)
    _ask_for_traces(asked, sent)
    _ask_with_mistakes(asked)
    _ask_to_wait(asked)
    _ask_to_change(asked, token)
    asked.answers["eth_subscribe messages"] = abbreviate(asked.messages)
    asked.close()
    return asked.answers


def _subscribe(asked: _Asked) -> None:
    asked.keep("eth_subscribe", "newHeads", case="newHeads")
    asked.keep("eth_subscribe", "logs", {}, case="logs")
    asked.keep("eth_subscribe", "newPendingTransactions", case="newPendingTransactions")
    asked.keep("eth_newFilter", {})
    asked.keep("eth_newBlockFilter")
    asked.keep("eth_newPendingTransactionFilter")


def _transact(asked: _Asked) -> tuple[str, Mapping[str, str]]:
    """Send the transactions that later questions are about; return a token and the hashes."""
    creation = load_artifact("DemoToken").encode_creation("USD Coin", "USDC", 6, 10**12)
    made = asked.keep(
        "eth_sendTransaction", {"from": FIRST, "data": to_hex(creation), "gas": hex(5_000_000)}
    )
    token = str(asked.ask("eth_getTransactionReceipt", made)["contractAddress"])
    data = load_artifact("DemoToken").encode_call("transfer", SECOND, 5)
    sent = {"creation": made}
    for name, form in {
        "transfer of tokens": {"to": token, "data": to_hex(data)},
        "calls and a creation": {"to": CALLER, "gas": hex(300_000)},
        "a revert": {"to": REVERTING, "gas": hex(300_000)},
        "ether": {"to": SECOND, "value": "0x7", "gas": hex(21_000)},
    }.items():
        sent[name] = asked.ask("eth_sendTransaction", {"from": FIRST, "gas": hex(300_000)} | form)
    return token, sent


def _ask_about_chain(asked: _Asked, token: str, sent: Mapping[str, str]) -> None:
    for method in (
        *("eth_accounts", "eth_requestAccounts", "eth_baseFee", "eth_blobBaseFee"),
        *("eth_blockNumber", "eth_chainId", "eth_coinbase", "eth_config", "eth_gasPrice"),
        *("eth_hashrate", "eth_maxPriorityFeePerGas", "eth_mining", "eth_networkId"),
        *("eth_syncing", "net_listening", "net_peerCount", "net_version", "ots_getApiLevel"),
        *("rpc_modules", "web3_clientVersion", "anvil_nodeInfo", "anvil_metadata"),
        *("hardhat_metadata", "anvil_getAutomine", "hardhat_getAutomine"),
        *("anvil_getIntervalMining", "anvil_getGenesisTime", "agent_models", "agent_schedule"),
        "agent_numericModels",
    ):
        asked.keep(method)
    asked.keep("agent_numericModelFile", "sentiment")
    for method in ("eth_getAccount", "eth_getAccountInfo", "eth_getBalance", "eth_getCode"):
        asked.keep(method, token)
    asked.keep("eth_getStorageAt", COUNTER, "0x0", "latest")
    asked.keep("eth_getStorageValues", {COUNTER: ["0x0"]}, "latest")
    asked.keep("eth_getTransactionCount", FIRST, "latest")
    asked.keep("eth_getTransactionBySenderAndNonce", FIRST, "0x1")
    asked.keep("eth_getProof", COUNTER, ["0x0"], "latest")
    asked.keep("eth_feeHistory", "0x2", "latest", [25, 75])
    asked.keep("web3_sha3", "0x00ff")
    asked.keep("eth_getLogs", {"fromBlock": "0x0", "address": token})
    for method, identifier in (
        ("eth_getFilterLogs", "eth_newFilter"),
        ("eth_getFilterChanges", "eth_newBlockFilter"),
        ("eth_uninstallFilter", "eth_newBlockFilter"),
    ):
        asked.keep(method, asked.answers[identifier])
    asked.keep("eth_unsubscribe", asked.answers["eth_subscribe logs"])
    for method in ("eth_sign", "personal_sign"):
        params = (FIRST, "0x1234")
        asked.keep(method, *(params if method == "eth_sign" else reversed(params)))
    for method in ("eth_signTypedData", "eth_signTypedData_v3", "eth_signTypedData_v4"):
        asked.keep(method, FIRST, TYPED_DATA)
    form = {"from": FIRST, "to": SECOND, "gas": hex(21_000), "nonce": "0x9"}
    fees = {"maxFeePerGas": hex(10**10), "maxPriorityFeePerGas": "0x1"}
    asked.keep("eth_signTransaction", form | fees)
    asked.keep("eth_fillTransaction", {"from": FIRST, "to": SECOND})
    asked.keep("ots_getContractCreator", token)
    asked.keep("ots_hasCode", token)
    asked.keep("ots_getTransactionBySenderAndNonce", FIRST, 1)
    asked.keep("ots_searchTransactionsAfter", SECOND, 0, 5)
    asked.keep("ots_searchTransactionsBefore", SECOND, 0, 1)
    asked.keep("ots_getTransactionError", sent["a revert"])
    asked.keep("ots_getInternalOperations", sent["calls and a creation"])
    asked.keep("ots_traceTransaction", sent["calls and a creation"])


TYPED_DATA = {
    "types": {
        "EIP712Domain": [{"name": "name", "type": "string"}],
        "Mail": [{"name": "text", "type": "string"}],
    },
    "primaryType": "Mail",
    "domain": {"name": "Golden"},
    "message": {"text": "Hello"},
}


def _ask_about_blocks(asked: _Asked, sent: Mapping[str, str]) -> None:
    is_full = True
    block = asked.keep("eth_getBlockByNumber", "0x2", is_full, case="full")
    asked.keep("eth_getBlockByNumber", "0x2", not is_full, case="with hashes")
    asked.keep("eth_getBlockByNumber", "0x0", is_full, case="of genesis")
    its_hash = block["hash"]
    asked.keep("eth_getBlockByHash", its_hash, not is_full)
    for method in (
        *("eth_getHeaderByHash", "eth_getBlockTransactionCountByHash"),
        *("eth_getUncleCountByBlockHash", "ots_getBlockDetailsByHash"),
    ):
        asked.keep(method, its_hash)
    for method in (
        *("eth_getBlockReceipts", "eth_getHeaderByNumber", "erigon_getHeaderByNumber"),
        *("eth_getBlockTransactionCountByNumber", "eth_getUncleCountByBlockNumber"),
        *("ots_getBlockDetails", "debug_getRawBlock", "debug_getRawHeader"),
        *("debug_getRawReceipts", "debug_executionWitness", "trace_block"),
    ):
        asked.keep(method, "0x2")
    asked.keep("ots_getBlockTransactions", 2, 0, 10)
    for method in (
        *("eth_getTransactionByBlockHashAndIndex", "eth_getUncleByBlockHashAndIndex"),
        "eth_getRawTransactionByBlockHashAndIndex",
    ):
        asked.keep(method, its_hash, "0x0")
        asked.keep(method.replace("BlockHash", "BlockNumber"), "0x2", "0x0")
    for name in ("creation", "transfer of tokens", "a revert"):
        asked.keep("eth_getTransactionByHash", sent[name], case=name)
        asked.keep("eth_getTransactionReceipt", sent[name], case=name)
    asked.keep("eth_getRawTransactionByHash", sent["ether"])
    asked.keep("debug_getRawTransaction", sent["ether"])


def _ask_for_calls(asked: _Asked, token: str) -> None:
    data = to_hex(load_artifact("DemoToken").encode_call("balanceOf", SECOND))
    call = {"from": FIRST, "to": token, "data": data}
    asked.keep("eth_call", call)
    asked.keep("eth_estimateGas", call)
    asked.keep("eth_createAccessList", call)
    asked.keep("eth_callMany", [{"transactions": [call]}], {"blockNumber": "latest"})
    asked.keep("agent_estimate", call)
    asked.keep("eth_call", {"to": REVERTING}, case="that reverts")
    no_token = {"from": SECOND, "to": token}
    no_token["data"] = to_hex(load_artifact("DemoToken").encode_call("transfer", FIRST, 99))
    asked.keep("eth_call", no_token, case="with a typed error")
    simulated = {"calls": [call, {"to": REVERTING}], "blockOverrides": {"number": "0x10"}}
    options = {"traceTransfers": True, "returnFullTransactions": True}
    asked.keep("eth_simulateV1", {"blockStateCalls": [simulated], **options}, "latest")
    asked.keep("debug_traceCall", call, "latest", {"tracer": "callTracer"})
    kinds = ["trace", "stateDiff", "vmTrace"]
    asked.keep("trace_call", {"to": COUNTER}, kinds, "latest")
    asked.keep("trace_callMany", [[{"to": COUNTER}, ["trace"]]], "latest")


def _ask_for_traces(asked: _Asked, sent: Mapping[str, str]) -> None:
    transaction = sent["calls and a creation"]
    asked.keep("debug_traceTransaction", transaction, case="without a tracer")
    wanted: dict[str, object] = dict.fromkeys(TRACERS) | {"muxTracer": {"noopTracer": {}}}
    for tracer, settings in wanted.items():
        options = {"tracer": tracer} | ({} if settings is None else {"tracerConfig": settings})
        asked.keep("debug_traceTransaction", transaction, options, case=tracer)
        asked.keep("debug_traceTransaction", sent["a revert"], options, case=f"{tracer}, a revert")
    for tracer, setting in (
        ("callTracer", "withLog"),
        ("callTracer", "onlyTopCall"),
        ("prestateTracer", "diffMode"),
        ("flatCallTracer", "convertParityErrors"),
        ("flatCallTracer", "includePrecompiles"),
    ):
        options = {"tracer": tracer, "tracerConfig": {setting: True}}
        case = f"{tracer}, {setting}"
        asked.keep("debug_traceTransaction", sent["transfer of tokens"], options, case=case)
    block = asked.ask("eth_getTransactionReceipt", transaction)
    options = {"tracer": "callTracer"}
    asked.keep("debug_traceBlockByHash", block["blockHash"], options)
    asked.keep("debug_traceBlockByNumber", block["blockNumber"], options)
    asked.keep("debug_traceBlock", asked.ask("debug_getRawBlock", block["blockNumber"]), options)
    asked.keep("debug_storageRangeAt", block["blockHash"], 0, COUNTER, ZERO_HASH, 10)
    code = asked.ask("eth_getProof", COUNTER, [], "latest")["codeHash"]
    asked.keep("debug_codeByHash", code)
    asked.keep("debug_dbGet", code)
    kinds = ["trace", "stateDiff", "vmTrace"]
    asked.keep("trace_replayTransaction", transaction, kinds)
    asked.keep("trace_replayBlockTransactions", block["blockNumber"], ["trace"])
    asked.keep("trace_transaction", transaction)
    asked.keep("trace_get", transaction, ["0x0"])
    asked.keep("trace_filter", {"fromBlock": "0x1", "fromAddress": [CALLER]})


def _ask_with_mistakes(asked: _Asked) -> None:
    """Send requests that are rejected."""
    ether = {"from": FIRST, "to": SECOND, "value": "0x1"}
    for case, method, params in (
        ("of no such name", "eth_noSuchMethod", ()),
        ("of other nodes", "anvil_setRpcUrl", ()),
        ("with too many parameters", "eth_chainId", (1,)),
        ("with too few parameters", "eth_getBalance", ()),
        ("with a wrong parameter", "eth_getBalance", ("0x12",)),
        ("of no such block", "eth_getBalance", (FIRST, "0x999")),
        (
            "with too high a nonce",
            "eth_sendTransaction",
            ({**ether, "nonce": "0xfffffffffffffffff"},),
        ),
        ("with too low a nonce", "eth_sendTransaction", ({**ether, "nonce": "0x0"},)),
        ("with too little gas", "eth_sendTransaction", ({**ether, "gas": "0x1"},)),
        ("with too much gas", "eth_sendTransaction", ({**ether, "gas": hex(10**9)},)),
        ("with too much value", "eth_sendTransaction", ({**ether, "value": hex(10**30)},)),
        ("with a fee too low", "eth_sendTransaction", ({**ether, "gasPrice": "0x1"},)),
        ("of a stranger", "eth_sendTransaction", ({**ether, "from": "0x" + "57" * 20},)),
        ("without bytes", "eth_sendRawTransaction", ("0x",)),
        ("of a missing transaction", "debug_traceTransaction", (HASH,)),
        ("of a missing transaction", "agent_traceTransaction", (HASH,)),
        ("with an unknown tracer", "debug_traceCall", ({"to": COUNTER}, "latest", {"tracer": "x"})),
        ("of another kind", "eth_subscribe", ("newMoons",)),
        ("of a missing filter", "eth_getFilterChanges", ("0x99",)),
        ("on a plain chain", "agent_setScript", ([],)),
        ("on a plain chain", "agent_clearScript", ()),
        ("of a missing snapshot", "evm_revert", ("0x99",)),
    ):
        asked.keep(method, *params, case=case)


def _ask_to_wait(asked: _Asked) -> None:
    """Send requests about pending transactions."""
    is_automatic = False
    asked.keep("evm_setAutomine", is_automatic)
    waiting = [
        asked.ask("eth_sendTransaction", {"from": FIRST, "to": SECOND, "gas": hex(21_000), **form})
        for form in ({"value": "0x1"}, {"value": "0x2"}, {"nonce": "0x63"})
    ]
    for method in ("txpool_content", "txpool_inspect", "txpool_status", "eth_pendingTransactions"):
        asked.keep(method)
    asked.keep("txpool_contentFrom", FIRST)
    is_full = True
    asked.keep("eth_getBlockByNumber", "pending", is_full, case="pending")
    asked.keep("eth_getTransactionByHash", waiting[0], case="of one that waits")
    asked.keep("anvil_dropTransaction", waiting[1])
    asked.keep("anvil_removePoolTransactions", SECOND)
    asked.keep("anvil_dropAllTransactions")
    asked.keep("anvil_setAutomine", not is_automatic)


def _ask_to_change(asked: _Asked, token: str) -> None:
    """Send requests of development nodes."""
    raw = asked.ask(
        "eth_signTransaction",
        {
            "from": FIRST,
            "to": SECOND,
            "gas": hex(21_000),
            "maxFeePerGas": hex(10**10),
            "maxPriorityFeePerGas": "0x1",
            "nonce": asked.ask("eth_getTransactionCount", FIRST, "latest"),
        },
    )
    asked.keep("trace_rawTransaction", raw["raw"] if isinstance(raw, dict) else raw, ["trace"])
    asked.keep("eth_sendRawTransactionSync", raw["raw"] if isinstance(raw, dict) else raw)
    asked.keep("eth_sendTransactionSync", {"from": FIRST, "to": SECOND})
    asked.keep("evm_snapshot")
    asked.keep("anvil_setBalance", SECOND, "0x5")
    asked.keep("anvil_setCode", SECOND, "0x00")
    asked.keep("anvil_setNonce", SECOND, "0x5")
    asked.keep("anvil_setStorageAt", SECOND, "0x0", HASH)
    asked.keep("anvil_dealERC20", SECOND, token, "0x7")
    asked.keep("anvil_setERC20Allowance", FIRST, SECOND, token, "0x7")
    asked.keep("anvil_impersonateAccount", COUNTER)
    asked.keep("anvil_stopImpersonatingAccount", COUNTER)
    asked.keep("evm_increaseTime", 10)
    asked.keep("evm_setNextBlockTimestamp", START_SECONDS + 10_000)
    asked.keep("evm_mine")
    asked.keep("anvil_mine", 2)
    asked.keep("evm_mine_detailed")
    asked.keep("anvil_reorg", 1, [])
    asked.keep("anvil_rollback", 1)
    asked.keep("evm_revert", asked.answers["evm_snapshot"])


# -- answers of development methods under all their names -- #


def _development_answers() -> Mapping[str, Json]:
    asked = _plain_node()
    token, _ = _transact(asked)
    asked.answers.clear()
    _ask_to_set_accounts(asked, token)
    _ask_to_set_blocks(asked)
    _ask_to_set_node(asked)
    asked.close()
    return asked.answers


def _ask_to_set_accounts(asked: _Asked, token: str) -> None:
    """Set balances, nonces, code and storage; read each new value."""
    for value, prefix in enumerate(("evm_setAccount", "hardhat_set"), start=6):
        asked.keep(f"{prefix}Balance", SECOND, hex(value))
        asked.keep("eth_getBalance", SECOND, case=f"after {prefix}Balance")
        asked.keep(f"{prefix}Nonce", SECOND, hex(value))
        asked.keep("eth_getTransactionCount", SECOND, case=f"after {prefix}Nonce")
        asked.keep(f"{prefix}Code", SECOND, f"0x{value:02x}")
        asked.keep("eth_getCode", SECOND, case=f"after {prefix}Code")
        asked.keep(f"{prefix}StorageAt", SECOND, "0x1", hex(value))
        asked.keep("eth_getStorageAt", SECOND, "0x1", case=f"after {prefix}StorageAt")
    asked.keep("tenderly_setBalance", SECOND, "0x8")
    for method in ("anvil_addBalance", "hardhat_addBalance", "tenderly_addBalance"):
        asked.keep(method, SECOND, "0x100")
    asked.keep("eth_getBalance", SECOND, case="after three additions")
    data = to_hex(load_artifact("DemoToken").encode_call("balanceOf", SECOND))
    for value, method in enumerate(
        ("anvil_setERC20Balance", "hardhat_dealERC20", "hardhat_setERC20Balance"), start=21
    ):
        asked.keep(method, SECOND, token, hex(value))
        asked.keep("eth_call", {"to": token, "data": data}, case=f"after {method}")


def _ask_to_set_blocks(asked: _Asked) -> None:
    """Set the clock and the fields of blocks; mine and read them."""
    seconds = START_SECONDS + 50_000
    asked.keep("anvil_increaseTime", 10)
    for step, prefix in enumerate(("anvil", "evm"), start=1):
        asked.keep(f"{prefix}_setTime", seconds + step * 1_000)
        asked.keep(f"{prefix}_setBlockTimestampInterval", step)
        asked.keep(f"{prefix}_setBlockGasLimit", hex(30_000_000 + step))
        asked.ask("evm_mine")
        asked.keep("eth_getHeaderByNumber", "latest", case=f"after {prefix}_setTime")
        asked.keep(f"{prefix}_removeBlockTimestampInterval")
    for step, prefix in enumerate(("anvil", "hardhat"), start=5):
        asked.keep(f"{prefix}_setNextBlockTimestamp", seconds + step * 1_000)
        asked.keep(f"{prefix}_setNextBlockBaseFeePerGas", hex(step))
        asked.keep(f"{prefix}_setCoinbase", f"0x{step:040x}")
        method = "hardhat_setPrevRandao" if prefix == "hardhat" else "anvil_setNextBlockPrevRandao"
        asked.keep(method, f"0x{step:064x}")
        asked.keep(*(("anvil_mine_detailed",) if prefix == "anvil" else ("hardhat_mine", "0x1")))
        asked.keep("eth_getHeaderByNumber", "latest", case=f"after {prefix}_setCoinbase")
    for prefix in ("anvil", "evm"):
        asked.keep(f"{prefix}_setIntervalMining", 0)
    is_automatic = True
    asked.ask("evm_setAutomine", is_automatic)


def _ask_to_set_node(asked: _Asked) -> None:
    """Impersonate, drop transactions, take snapshots, dump, load and reset."""
    is_on = True
    ether = {"from": COUNTER, "to": FIRST, "value": "0x1", "gas": hex(21_000)}
    asked.ask("anvil_setBalance", COUNTER, hex(10**18))
    asked.keep("hardhat_impersonateAccount", COUNTER)
    asked.keep("eth_accounts", case="after hardhat_impersonateAccount")
    asked.keep("hardhat_stopImpersonatingAccount", COUNTER)
    for prefix in ("anvil", "hardhat"):
        asked.keep(f"{prefix}_autoImpersonateAccount", is_on)
        asked.keep("eth_sendTransaction", ether, case=f"after {prefix}_autoImpersonateAccount")
        asked.ask(f"{prefix}_autoImpersonateAccount", not is_on)
        asked.keep(f"{prefix}_setLoggingEnabled", not is_on)
    asked.keep("eth_sendUnsignedTransaction", ether)
    asked.ask("evm_setAutomine", not is_on)
    sent = asked.ask("eth_sendTransaction", {"from": FIRST, "to": SECOND, "gas": hex(50_000)})
    asked.keep("hardhat_dropTransaction", sent)
    asked.keep("hardhat_dropAllTransactions")
    asked.keep("txpool_status", case="after hardhat_dropAllTransactions")
    asked.keep("anvil_revert", asked.keep("anvil_snapshot"))
    for prefix in ("anvil", "hardhat"):
        dump = asked.ask(f"{prefix}_dumpState")
        asked.answers[f"{prefix}_dumpState"] = {"prefix": str(dump)[:6]}  # zlib's version decides.
        asked.keep(f"{prefix}_reset")
        asked.keep("eth_getBalance", COUNTER, case=f"after {prefix}_reset")
        asked.keep(f"{prefix}_loadState", dump)
        asked.keep("eth_getBalance", COUNTER, case=f"after {prefix}_loadState")


# -- answers of a node with agents -- #


def _agent_answers(vocabulary: Vocabulary) -> Mapping[str, Json]:
    asked, wallet = _agent_node(SwappableModel(ByteModel(_deposit_then_done, is_free=True)))
    form = {
        "from": to_checksum_address(DEVELOPMENT_ADDRESS),
        "to": to_checksum_address(wallet.agent),
        "data": to_hex(load_artifact("WalletAgent").encode_call("instruct", "Deposit 10 USDC")),
        "gas": hex(29_000_000),
    }
    asked.keep("agent_models")
    asked.keep("agent_schedule")
    asked.keep("agent_estimate", form)
    other = f"You pay.\n\nUSDC = {to_checksum_address(wallet.tokens['USDC'])}"
    texts = [{"address": form["to"], "basePrompt": other}]
    asked.keep("agent_traceCall", form, None, None, texts)
    subscription = asked.keep("agent_subscribe", "steps")
    sent = asked.keep("eth_sendTransaction", form)
    asked.keep("eth_getTransactionReceipt", sent)
    asked.keep("agent_traceTransaction", sent)
    asked.keep("agent_traceCalls", sent)
    asked.keep("agent_getRuns", "earliest", "latest")
    asked.keep("agent_describe", form["to"])
    asked.keep("agent_exportReplay", sent)
    asked.keep("agent_exportReplay", sent, "contract", case="under a reserved word")
    asked.keep("debug_traceTransaction", sent, {"tracer": "callTracer"})
    asked.keep("eth_call", form | {"gas": hex(4_000_000)}, case="whose gas ends")
    asked.keep("eth_call", {"to": EXECUTOR, "data": "0x"}, case="that is refused")
    text = to_hex(load_artifact("WalletAgent").encode_call("instruct", "Fail"))
    asked.keep("eth_call", form | {"data": text}, case="whose model fails")
    asked.keep("agent_subscribe", "moods", case="of another kind")
    asked.keep("agent_setScript", [{"tool": "A"}], case="without a vocabulary")
    asked.keep("agent_setScript", [{"tool": "A", "answer": "b"}], case="of no step")
    asked.keep("agent_unsubscribe", subscription)
    asked.answers["agent_subscribe messages"] = _kept(asked.messages)
    asked.close()
    return {**asked.answers, **_scripted_answers(vocabulary, form)}


EXECUTOR = "0x0000000000000000000000000000000000000019"


def _scripted_answers(vocabulary: Vocabulary, form: Mapping[str, str]) -> Mapping[str, Json]:
    """Return the answers of a node whose scripts are counted in tokens of a vocabulary."""
    own = ScriptedModel([answer("Done.")], vocabulary=vocabulary)
    asked, _ = _agent_node(SwappableModel(own), build_model_profile(vocabulary.profile_facts))
    steps = [
        {"tool": "DeployTool", "thought": "First.", "arguments": {"asset": "USDC", "amount": 1}},
        {"answer": "Scripted.", "thought": "Then."},
    ]
    asked.keep("agent_setScript", steps)
    sent = asked.keep("eth_sendTransaction", form, case="of a script")
    asked.keep("agent_clearScript")
    asked.keep("agent_traceTransaction", sent, case="of a script")
    asked.close()
    return asked.answers


def _agent_node(
    model: SwappableModel, profile: ModelProfile = PROFILE
) -> tuple[_Asked, WalletDemo]:
    accounts = {DEVELOPMENT_ADDRESS: GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)}
    chain = Chain(ChainConfig(models=(profile,)), {profile.name: model}, accounts=accounts)
    wallet = WalletDemo(chain)
    start = chain.head.timestamp
    node = Node(chain, now=lambda: 2e9, keys=Keys([DEVELOPMENT_KEY]), since_seconds=start)
    return _Asked(node, build_node_service(node, send_seconds=240)), wallet


def _deposit_then_done(request: GenerationRequest) -> str:
    asked = "".join(one.text for one in request.segments)
    if "Question: Fail" in asked:
        raise EngineFault("the model is gone")
    return DONE if "Observation: Success" in asked else DEPOSIT
