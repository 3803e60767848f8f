"""The suite of ethereum/execution-apis: every request of its files, and the answers to them."""

from __future__ import annotations

import re
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from pyevm_agents.chain import Chain
from pyevm_agents.forking import open_fork
from pyevm_agents.forking.headers import parse_header
from pyevm_agents.node import MiningMode, Node
from pyevm_agents.rpc.dispatcher import DeferredResponse, Dispatcher
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.rpc.session import Session
from tests.conformance.execution_apis import NAME, Case, cases, imported_chain
from tests.conformance.suites import suite
from tests.pyevm_agents.forking.forked_node import build_config
from tests.serving import serve_in_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.rpc.service import NodeService

FOLDER = suite(NAME)
if FOLDER is None:
    pytest.skip("no shared/conformance/execution-apis beside the checkout", allow_module_level=True)

CASES = cases(FOLDER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A node that serves the suite's chain, or a fork of it, and mines nothing."""

    dispatcher: Dispatcher
    is_fork: bool = False

    def ask(self, request: bytes) -> dict[str, Any]:
        """Send bytes; return the response."""
        answer = self.dispatcher.handle(request, Session("test"))
        if isinstance(answer, DeferredResponse):
            answer = answer()
        assert answer is not None
        read: dict[str, Any] = orjson.loads(answer)
        return read


@pytest.fixture(scope="module", params=["own", pytest.param("fork", marks=pytest.mark.slow)])
def asked(request: pytest.FixtureRequest) -> Iterator[Asked]:
    """The suite's chain, or a fork of its head, whose remote node serves it over HTTP."""
    assert FOLDER is not None
    chain = imported_chain(FOLDER)
    with ExitStack() as stack:
        if request.param == "fork":
            remote = stack.enter_context(closing(build_node(chain)))
            url = stack.enter_context(serve_in_thread(build_service(remote)))
            fork = stack.enter_context(closing(open_fork(url, retries=0)))
            chain = Chain(build_config(fork), fork=fork)
        node = stack.enter_context(closing(build_node(chain)))
        yield Asked(dispatcher=Dispatcher(build_service(node)), is_fork=node.fork is not None)


def build_node(chain: Chain) -> Node:
    return Node(chain, now=lambda: 450.0, mining=MiningMode(is_automatic=False))


def build_service(node: Node) -> NodeService:
    return build_node_service(node, call_gas=50_000_000)


def test_the_suite_is_whole() -> None:
    assert len(CASES) == 193


# py-evm warns of SELFDESTRUCT, which the suite uses.
@pytest.mark.filterwarnings("ignore:SELFDESTRUCT opcode present:DeprecationWarning")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_answers_as_the_suite_says(case: Case, asked: Asked) -> None:
    for exchange in case.exchanges:
        answer, wanted = asked.ask(exchange.request), exchange.answer
        if asked.is_fork and case.name.startswith("eth_simulateV1/"):
            answer = with_hashes_of(wanted, answer)
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


def with_hashes_of(wanted: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """Return a fork's simulation with the state roots and block hashes of the remote chain's.

    A fork has state roots of its own, so the hashes of simulated blocks follow from them. Each has
    to be that of its header. Source: docs/forks.md#what-is-checked.
    """
    names: dict[str, str] = {}
    for ours, theirs in zip(answer.get("result", ()), wanted.get("result", ()), strict=True):
        assert parse_header(ours).hash.hex() == ours["hash"][2:]
        names |= {ours[name][2:]: theirs[name][2:] for name in ("hash", "stateRoot")}
    if not names:
        return answer
    renamed = re.sub("|".join(names), lambda found: names[found[0]], orjson.dumps(answer).decode())
    read: dict[str, Any] = orjson.loads(renamed)
    return read


def shape(value: object) -> object:
    """Return a value with its texts and numbers replaced by their kinds."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return "number" if isinstance(value, int | float) else type(value).__name__
