"""A proxy before a node: it counts requests, may lack `eth_getProof`, and can go."""

from __future__ import annotations

import http.client
import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

MISSING_METHOD = {"code": -32601, "message": "the method does not exist/is not available"}


@dataclass
class CountingProxy:
    """The proxy: its URL, and what passed."""

    url: str
    node_url: str
    has_proofs: bool = True
    posts: int = 0
    calls: int = 0
    """Requests, each of a batch counted."""

    def forget(self) -> None:
        """Forget what passed."""
        self.posts = self.calls = 0


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = HANG_SECONDS

    def __init__(self, proxy: CountingProxy, lock: threading.Lock, *rest: Any) -> None:  # noqa: ANN401 - the server's
        self.proxy, self.lock = proxy, lock
        host = proxy.node_url.removeprefix("http://")
        self.node = http.client.HTTPConnection(host, timeout=HANG_SECONDS)
        super().__init__(*rest)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        message = json.loads(body)
        forms = message if isinstance(message, list) else [message]
        with self.lock:
            self.proxy.posts += 1
            self.proxy.calls += len(forms)
        answer = self._refuse_proofs(message) or self._forward(body)
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def finish(self) -> None:
        super().finish()
        self.node.close()

    def _forward(self, body: bytes) -> bytes:
        self.node.request("POST", "/", body, {"Content-Type": "application/json"})
        return self.node.getresponse().read()

    def _refuse_proofs(self, message: Any) -> bytes | None:  # noqa: ANN401 - JSON
        """Return an answer of errors to proofs alone, if the proxy lacks them."""
        forms = message if isinstance(message, list) else [message]
        if self.proxy.has_proofs or all(each["method"] != "eth_getProof" for each in forms):
            return None
        answers = [{"jsonrpc": "2.0", "id": each["id"], "error": MISSING_METHOD} for each in forms]
        return json.dumps(answers if isinstance(message, list) else answers[0]).encode()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def counting_proxy(node_url: str, *, has_proofs: bool = True) -> Iterator[CountingProxy]:
    """Serve on a free port of this machine inside a context; afterwards nothing listens there."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server.daemon_threads = True
    url = f"http://127.0.0.1:{server.server_address[1]}"
    proxy = CountingProxy(url, node_url, has_proofs)
    server.RequestHandlerClass = partial(_Handler, proxy, threading.Lock())
    thread = threading.Thread(target=partial(server.serve_forever, poll_interval=0.01))
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
