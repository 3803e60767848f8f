"""The suite of ethereum/execution-apis: every request of its files, and the answers to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
import pytest

from pyevm_agents.node import MiningMode, Node
from pyevm_agents.rpc.context import RequestContext
from pyevm_agents.rpc.dispatcher import DeferredResponse, Dispatcher
from pyevm_agents.rpc.filters import EventSystem
from pyevm_agents.rpc.methods.registry import collect_methods
from pyevm_agents.rpc.service import NodeService
from pyevm_agents.rpc.session import Session
from tests.conformance.execution_apis import NAME, Case, cases, imported_chain
from tests.conformance.suites import suite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Ask = Callable[[bytes], dict[str, Any]]

FOLDER = suite(NAME)
if FOLDER is None:
    pytest.skip("no shared/conformance/execution-apis beside the checkout", allow_module_level=True)

CASES = cases(FOLDER)


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """Send bytes to a node that serves the suite's chain, and mines nothing; return its answer."""
    assert FOLDER is not None
    node = Node(imported_chain(FOLDER), now=lambda: 450.0, mining=MiningMode(is_automatic=False))
    rpc = RequestContext(node=node, events=EventSystem(node), call_gas=50_000_000)
    dispatcher = Dispatcher(NodeService(rpc, collect_methods(), {}))

    def send(request: bytes) -> dict[str, Any]:
        answer = dispatcher.handle(request, Session("test"))
        if isinstance(answer, DeferredResponse):
            answer = answer()
        assert answer is not None
        read: dict[str, Any] = orjson.loads(answer)
        return read

    yield send
    node.close()


def test_the_suite_is_whole() -> None:
    assert len(CASES) == 193


# py-evm warns of SELFDESTRUCT, which the suite uses.
@pytest.mark.filterwarnings("ignore:SELFDESTRUCT opcode present:DeprecationWarning")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_answers_as_the_suite_says(case: Case, ask: Ask) -> None:
    for exchange in case.exchanges:
        answer, wanted = ask(exchange.request), exchange.answer
        if "error" in wanted:
            expected = NEWER_CODES.get(case.name, wanted["error"]["code"])
            assert answer.get("error", answer)["code"] == expected, answer
            continue
        assert "result" in answer, answer
        if case.is_spec_only:
            assert shape(answer["result"]) == shape(wanted["result"])
        else:
            assert in_older_form(answer["result"], wanted["result"], case.name) == wanted["result"]


NEWER_FIELDS = {"blockTimestamp", "maxUsedGas"}
"""Fields that later versions of the suite expect in transactions and simulated calls."""


FEE_TOO_LOW = -38012
NEWER_CODES = {
    "eth_getStorageAt/get-storage-invalid-key": -32602,
    "eth_getStorageAt/get-storage-invalid-key-too-large": -32602,
    "eth_simulateV1/ethSimulate-basefee-too-low-with-validation-38012": FEE_TOO_LOW,
    "eth_simulateV1/ethSimulate-check-invalid-nonce": FEE_TOO_LOW,
    "eth_simulateV1/ethSimulate-gas-fees-and-value-error-38014-with-validation": FEE_TOO_LOW,
    "eth_simulateV1/ethSimulate-simple-no-funds-with-validation": FEE_TOO_LOW,
    "eth_simulateV1/ethSimulate-simple-no-funds-with-validation-without-nonces": FEE_TOO_LOW,
    "eth_simulateV1/ethSimulate-simple-send-from-contract-with-validation": FEE_TOO_LOW,
    "eth_simulateV1/ethSimulate-eth-send-should-not-produce-logs-on-revert": 3,
    "eth_simulateV1/ethSimulate-eth-send-should-produce-no-logs-on-forward-revert": 3,
    "eth_simulateV1/ethSimulate-fee-recipient-receiving-funds": 3,
}
"""Error codes that execution-apis 033ca6e6 expects, where this version has others."""


def in_older_form(value: Any, wanted: Any, name: str) -> Any:  # noqa: ANN401 - JSON
    """Return an answer as this version of the suite has it: without newer fields and codes."""
    if isinstance(value, list) and isinstance(wanted, list) and len(value) == len(wanted):
        return [in_older_form(*pair, name) for pair in zip(value, wanted, strict=True)]
    if not (isinstance(value, dict) and isinstance(wanted, dict)):
        return value
    if "code" in wanted and value.get("code") == NEWER_CODES.get(name):
        value = value | {"code": wanted["code"]}
    return {
        key: in_older_form(item, wanted.get(key), name)
        for key, item in value.items()
        if key in wanted or key not in NEWER_FIELDS
    }


def shape(value: object) -> object:
    """Return a value with its texts and numbers replaced by their kinds."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return "number" if isinstance(value, int | float) else type(value).__name__
