"""web3.py on a chain in this process, with a single execution of each transaction.

web3.py estimates the gas of a transaction without a gas limit. An exact estimate takes up to twenty
executions if an agent reads the gas left. Here the transaction gets a block's gas and is mined.
After a failure, the block is rolled back and the reason raised, as by the estimate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from eth_utils import to_checksum_address
from web3 import Web3
from web3._utils.error_formatters_utils import raise_contract_logic_error_on_revert
from web3.exceptions import ContractLogicError, Web3RPCError
from web3.middleware.buffered_gas_estimate import BufferedGasEstimateMiddleware

from pyevm_agents.agents.failures import read_revert_context
from pyevm_agents.rpc.errors import execution_error
from pyevm_agents.rpc.web3_provider import AgentProvider

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth.abc import ComputationAPI
    from web3.middleware.base import Web3Middleware
    from web3.types import MakeRequestFn, RPCEndpoint, RPCResponse

    from pyevm_agents.node import Node
    from pyevm_agents.rpc.dispatcher import Service
    from pyevm_agents.testing.model_stub import ModelStub

GAS_LAYER = "gas_estimate"
"""web3.py's name of the middleware that estimates gas."""

SEND = "eth_sendTransaction"

REVERTING = frozenset(("eth_call", "eth_estimateGas", SEND))
"""Methods whose reverts web3.py raises as `ContractLogicError`."""


class RevertibleChain(Protocol):
    """The members of a chain, such as `AgentChain`, that the middleware uses."""

    node: Node

    @property
    def accounts(self) -> Sequence[str]:
        """The accounts; the first one is web3.py's default account."""

    def snapshot(self) -> int:
        """Take a snapshot; return the number for `revert`."""

    def revert(self, snapshot: int) -> None:
        """Roll back to a snapshot, which is deleted with all later ones."""

    def forget_snapshot(self, snapshot: int) -> None:
        """Delete a snapshot; later ones stay."""

    def computation(self, transaction_hash: bytes | str) -> ComputationAPI:
        """Return the computation of a mined transaction."""


class AgentTestProvider(AgentProvider):
    """A provider that raises the failures of the test's model."""

    def __init__(self, service: Service, model: ModelStub) -> None:
        """Create a provider for a node's service and a chain's model."""
        super().__init__(service)
        self._model = model

    def make_request(self, method: RPCEndpoint, params: Any) -> RPCResponse:  # noqa: ANN401 - web3's
        """Send a request to the node's service; return the response.

        Raises: ScriptError: a script is used up, or the grammar does not admit the step. Exceptions
                of a function or another model are raised unchanged.
        """
        response = super().make_request(method, params)
        if "error" in response:
            self._model.raise_failure()
        return response


def connect_web3(chain: RevertibleChain, provider: AgentProvider) -> Web3:
    """Return web3.py on a chain, with the chain's first account as the default."""
    w3 = Web3(provider)
    w3.eth.default_account = to_checksum_address(chain.accounts[0])
    w3.middleware_onion.remove(GAS_LAYER)
    w3.middleware_onion.inject(_build_middleware(chain), GAS_LAYER, layer=0)
    return w3


def _build_middleware(chain: RevertibleChain) -> type[Web3Middleware]:
    """Return a chain's middleware."""

    class SingleExecutionMiddleware(BufferedGasEstimateMiddleware):
        """Sends transactions without a gas limit with the highest one; rolls back failed ones."""

        def wrap_make_request(self, make_request: MakeRequestFn) -> MakeRequestFn:
            """Return a function that answers a request."""
            estimated = super().wrap_make_request(make_request)

            def send_request(method: RPCEndpoint, params: Any) -> RPCResponse:  # noqa: ANN401 - web3's
                is_quick = chain.node.mining.is_automatic and not len(chain.node.pool)
                if method != SEND or "gas" in params[0] or not is_quick:
                    response = estimated(method, params)
                    if method in REVERTING and "error" in response:
                        _raise_revert(response)
                    return response
                gas = chain.node.max_transaction_gas
                number = chain.snapshot()
                try:
                    response = make_request(method, ({**params[0], "gas": hex(gas)},))
                except BaseException:
                    chain.forget_snapshot(number)  # The model failed: no block was mined.
                    raise
                _undo_failure(chain, number, response)
                return response

            return send_request

    return SingleExecutionMiddleware


def _undo_failure(chain: RevertibleChain, number: int, response: RPCResponse) -> None:
    """Roll back a failed transaction and raise the reason; else delete the snapshot.

    Raises: ContractLogicError, Web3RPCError: the transaction failed, as a failed estimate raises.
    """
    computation = None if "error" in response else chain.computation(response["result"])
    if computation is None or not computation.is_error:
        chain.forget_snapshot(number)
        return
    context = read_revert_context(computation)
    error = execution_error(
        computation.error,
        bytes(computation.output),
        context,
        chain.node.chain.known_contracts,
    )
    chain.revert(number)
    rpc_error: Any = {"code": error.code, "message": error.message}
    if error.data is not None:
        rpc_error["data"] = error.data
    failed: RPCResponse = {"jsonrpc": "2.0", "id": 0, "error": rpc_error}
    _raise_revert(failed)
    raise Web3RPCError(error.message, rpc_response=failed)


def _raise_revert(response: RPCResponse) -> None:
    """Raise web3.py's exception of a revert, with the node's message as text.

    web3.py's own text of a custom error is the revert data, twice. The revert data stay in `data`.

    Raises: ContractLogicError: the response is a revert.
    """
    try:
        raise_contract_logic_error_on_revert(response)
    except ContractLogicError as raised:
        raised.args = (response["error"]["message"],)
        raise
