"""web3.py providers of a node in the same process, without a server.

    w3 = Web3(AgentProvider(build_node_service(node)))
    w3 = AsyncWeb3(AsyncAgentProvider(build_node_service(node)))
    async with AsyncWeb3(PersistentAgentProvider(build_node_service(node))) as w3: ...  # subscribes

web3.py is an extra: `pip install pyevm-agents[web3]`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from web3.exceptions import PersistentConnectionClosedOK, ProviderConnectionError
from web3.providers import JSONBaseProvider
from web3.providers.async_base import AsyncJSONBaseProvider
from web3.providers.persistent import PersistentConnectionProvider

from pyevm_agents.rpc.codec import encode
from pyevm_agents.rpc.dispatcher import DeferredResponse, Dispatcher
from pyevm_agents.rpc.session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from web3.types import RPCEndpoint, RPCResponse

    from pyevm_agents.rpc.dispatcher import Service

    Requests = list[tuple[RPCEndpoint, Any]]

IN_PROCESS = "in process"
"""Name of the transport in the log."""


class AgentProvider(JSONBaseProvider):
    """A provider that executes requests in the calling thread."""

    def __init__(self, service: Service) -> None:
        """Input: the service, such as `build_node_service(node)`."""
        super().__init__()
        self._dispatcher = Dispatcher(service)
        self._session = Session(IN_PROCESS)

    def __str__(self) -> str:
        return "a node in this process"

    def make_request(self, method: RPCEndpoint, params: Any) -> RPCResponse:  # noqa: ANN401 - web3's
        """Execute a request; return the response."""
        answer = self._answer(self.encode_rpc_request(method, params))
        return self.decode_rpc_response(answer)

    def make_batch_request(self, requests: Requests) -> RPCResponse:
        """Execute several requests in order; return a list of responses."""
        return self.decode_rpc_response(self._answer(self.encode_batch_rpc_request(requests)))

    def close(self) -> None:
        """Close the session; the node keeps running."""
        self._session.close()

    def _answer(self, body: bytes) -> bytes:
        reply = self._dispatcher.handle(body, self._session)
        answer = reply() if isinstance(reply, DeferredResponse) else reply
        assert answer is not None  # noqa: S101 - web3.py sends no notification
        return answer


class AsyncAgentProvider(AsyncJSONBaseProvider):
    """A provider that executes requests in threads, without blocking the event loop."""

    def __init__(self, service: Service) -> None:
        """Input: the service, such as `build_node_service(node)`."""
        super().__init__()
        self._dispatcher = Dispatcher(service)
        self._session = Session(IN_PROCESS)

    def __str__(self) -> str:
        return "a node in this process"

    async def make_request(self, method: RPCEndpoint, params: Any) -> RPCResponse:  # noqa: ANN401 - web3's
        """Execute a request; return the response."""
        body = self.encode_rpc_request(method, params)
        return self.decode_rpc_response(
            await _answer_message(self._dispatcher, body, self._session)
        )

    async def make_batch_request(self, requests: Requests) -> RPCResponse:
        """Execute several requests in order; return a list of responses."""
        body = self.encode_batch_rpc_request(requests)
        answer = await _answer_message(self._dispatcher, body, self._session)
        return self.decode_rpc_response(answer)

    def close(self) -> None:
        """Close the session; the node keeps running."""
        self._session.close()


class PersistentAgentProvider(PersistentConnectionProvider):
    """A provider with subscriptions: a persistent connection without a socket."""

    endpoint_uri = "a node in this process"
    """Name of the connection in web3.py's log."""

    def __init__(self, service: Service, **options: Any) -> None:  # noqa: ANN401 - web3's own options
        """Input: the service, such as `build_node_service(node)`; web3.py's connection options."""
        super().__init__(**options)
        self._dispatcher = Dispatcher(service)
        self._session: Session | None = None
        self._messages: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._requests: set[asyncio.Task[None]] = set()

    async def is_connected(self, show_traceback: bool = False) -> bool:  # noqa: FBT001, FBT002 - web3's
        """Return whether the session is open."""
        if self._session is None and show_traceback:
            raise ProviderConnectionError("no session: use the provider in `async with AsyncWeb3`")
        return self._session is not None

    async def socket_send(self, request_data: bytes) -> None:
        """Start to execute a message; responses may come in another order."""
        if self._session is None:
            raise ProviderConnectionError("no session: use the provider in `async with AsyncWeb3`")
        task = asyncio.create_task(self._answer(request_data, self._session))
        self._requests.add(task)
        task.add_done_callback(self._requests.discard)

    async def socket_recv(self) -> RPCResponse:
        """Return the next response or notification."""
        message = await self._messages.get()
        if message is None:
            raise PersistentConnectionClosedOK(user_message="the session is closed")
        return self.decode_rpc_response(message)

    async def _answer(self, body: bytes, session: Session) -> None:
        self._messages.put_nowait(await _answer_message(self._dispatcher, body, session))

    async def _provider_specific_connect(self) -> None:
        loop = asyncio.get_running_loop()
        messages = self._messages = asyncio.Queue()

        def notify(message: Mapping[str, object]) -> None:
            loop.call_soon_threadsafe(messages.put_nowait, encode(message))

        self._session = Session(IN_PROCESS, notify)

    async def _provider_specific_disconnect(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None
            self._messages.put_nowait(None)

    async def _provider_specific_socket_reader(self) -> RPCResponse:
        return await self.socket_recv()


async def _answer_message(dispatcher: Dispatcher, body: bytes, session: Session) -> bytes:
    """Execute a message, in a thread if not quick."""
    reply = dispatcher.handle(body, session)
    answer = await asyncio.to_thread(reply) if isinstance(reply, DeferredResponse) else reply
    assert answer is not None  # noqa: S101 - web3.py sends no notification
    return answer
