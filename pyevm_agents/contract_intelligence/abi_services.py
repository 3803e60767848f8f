"""ABIs from servers: APIs as Etherscan's, and Sourcify. Answers are kept on disk.

service = EtherscanService("https://…/v2/api", key="…")
interface = fetch_interface(service, contract, cache=AbiCache(folder))
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlencode

import orjson
from eth_utils import keccak, to_checksum_address

from pyevm_agents.atomic_files import replace_atomically
from pyevm_agents.client.http_transport import AnswerTooLargeError, HttpTransport, TransportError
from pyevm_agents.contract_intelligence.function_abi import ContractInterface, read_interface
from pyevm_agents.contract_intelligence.untrusted_text import clean_text
from pyevm_agents.errors import AgentsError

if TYPE_CHECKING:
    from pathlib import Path

    from pyevm_agents.client.http_transport import HttpAnswer

DEFAULT_TIMEOUT_SECONDS = 20.0
"""Seconds for one request. Etherscan answers within two."""

MAX_ANSWER_BYTES = 16 << 20
"""Bytes of an answer. The largest verified sources have some 5 MB."""

SHOWN_CHARACTERS = 200
"""Characters of a server's message in ours."""

OK, NOT_FOUND, TOO_MANY_REQUESTS = 200, 404, 429
REDIRECTS = range(300, 400)

RATE_LIMIT = re.compile(r"rate.?limit|too many requests|max.{0,20}calls", re.IGNORECASE)
BAD_KEY = re.compile(r"invalid.{0,5}api.?key|missing.{0,30}api.?key", re.IGNORECASE)
NOT_VERIFIED = re.compile(r"not.{0,5}verified|no.{0,5}abi", re.IGNORECASE)

SOURCIFY_FIELDS = "abi,devdoc,userdoc,compilation.name"
KEPT_FIELDS = ("abi", "devdoc", "userdoc", "contractName")


class AbiServiceError(AgentsError):
    """A server of ABIs did not answer, or not with an ABI."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedContract:
    """A contract of a chain, as servers of ABIs know it."""

    chain_id: int
    address: bytes
    code: bytes

    @property
    def checksum_address(self) -> str:
        """The address as EIP-55 writes it."""
        return str(to_checksum_address(self.address))


class AbiService(Protocol):
    """A server that has ABIs of contracts."""

    @property
    def name(self) -> str:
        """`explorer` or `sourcify`."""
        ...

    @property
    def url_digest(self) -> str:
        """A hash of the server's URL, for the cache."""
        ...

    def fetch(self, contract: DeployedContract) -> Mapping[str, Any] | None:
        """Return the artifact of a contract; None if the server has none.

        Raises: AbiServiceError: the server does not answer, or answers with something else.
        """
        ...


class _HttpService:
    """The requests of a server: their limits, and errors without secrets."""

    name: str

    def __init__(self, url: str, *, secrets: tuple[str, ...], timeout_seconds: float) -> None:
        self._transport = HttpTransport(
            url,
            timeout_seconds,
            server=f"the {self.name} service",
            max_answer_bytes=MAX_ANSWER_BYTES,
            secrets=secrets,
        )
        self.url_digest = hashlib.sha256(url.encode()).hexdigest()[:8]

    def _get(self, query: Mapping[str, object], path: str = "") -> tuple[HttpAnswer, Any]:
        """Return an answer and the answer's JSON value."""
        try:
            answer = self._transport.get(urlencode(query), path=path)
        except TransportError as error:
            raise self._build_error(f"no answer: {error}; try again later") from error
        except AnswerTooLargeError as error:
            size = MAX_ANSWER_BYTES >> 20
            raise self._build_error(
                f"answer of more than {size} MiB: must be smaller; pass a file with --abi"
            ) from error
        finally:
            self._transport.close()
        if answer.status in REDIRECTS:
            raise self._build_error(f"HTTP {answer.status}: it redirects; pass the URL it names")
        if answer.status == TOO_MANY_REQUESTS:
            raise self._build_error("rate limit reached; wait, or pass a key of your own")
        try:
            return answer, orjson.loads(answer.body)
        except ValueError as error:
            raise self._build_error(
                f"HTTP {answer.status} with an answer that is not JSON; check the URL"
            ) from error

    def _build_error(self, text: str) -> AbiServiceError:
        return AbiServiceError(f"{self.name} {self._transport.host}: {self._redact(text)}")

    def _redact(self, text: str) -> str:
        return self._transport.redactor.redact(text)

    def _quote(self, text: object) -> str:
        return clean_text(self._redact(str(text)), SHOWN_CHARACTERS) or "no reason given"


class EtherscanService(_HttpService):
    """An API as Etherscan's, version 2: one URL for all chains. Blockscout has the same."""

    name = "explorer"

    def __init__(
        self, url: str, *, key: str = "", timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    ) -> None:
        """Open no connection yet.

        Input:  the API's URL, such as `https://…/v2/api`; the API key, empty for none.
        Raises: ConfigError: not an HTTP URL.
        """
        super().__init__(url, secrets=(key,), timeout_seconds=timeout_seconds)
        self._key = key

    def fetch(self, contract: DeployedContract) -> Mapping[str, Any] | None:
        """Return the ABI and the name of a contract; None if not verified.

        Raises: AbiServiceError: the server does not answer, or answers with something else.
        """
        query: dict[str, object] = {
            "chainid": contract.chain_id,
            "module": "contract",
            "action": "getsourcecode",
            "address": contract.checksum_address,
        }
        if self._key:
            query["apikey"] = self._key
        answer, form = self._get(query)
        result = form.get("result") if isinstance(form, Mapping) else None
        match result:
            case [{"ABI": str(text), **rest}, *_]:
                return self._read_abi(text, rest.get("ContractName"))
            case str(text) if NOT_VERIFIED.search(text):
                return None
            case str(text) if RATE_LIMIT.search(text):
                raise self._build_error("rate limit reached; wait, or pass a key of your own")
            case str(text) if BAD_KEY.search(text):
                raise self._build_error(
                    f"{self._quote(text)}; set ETHERSCAN_API_KEY to a key of this server"
                )
            case str(text):
                raise self._build_error(f"the answer is an error: {self._quote(text)}")
            case _:
                raise self._build_error(
                    f"HTTP {answer.status} without a result; the URL must be that of an API, such "
                    "as https://host/v2/api"
                )

    def _read_abi(self, text: str, name: object) -> Mapping[str, Any] | None:
        if not text or NOT_VERIFIED.search(text[:SHOWN_CHARACTERS]):
            return None
        try:
            abi = orjson.loads(text)
        except ValueError as error:
            raise self._build_error("the ABI is not JSON; pass a file with --abi") from error
        return {"abi": abi, "contractName": name}


class SourcifyService(_HttpService):
    """Sourcify's API, version 2, which has comments of the source as well."""

    name = "sourcify"

    def __init__(self, url: str, *, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS) -> None:
        """Open no connection yet.

        Input:  the server's URL, such as `https://sourcify.dev/server`.
        Raises: ConfigError: not an HTTP URL.
        """
        super().__init__(url, secrets=(), timeout_seconds=timeout_seconds)

    def fetch(self, contract: DeployedContract) -> Mapping[str, Any] | None:
        """Return the ABI, the name and the comments of a contract; None if not verified.

        Raises: AbiServiceError: the server does not answer, or answers with something else.
        """
        path = f"/v2/contract/{contract.chain_id}/{contract.checksum_address}"
        answer, form = self._get({"fields": SOURCIFY_FIELDS}, path=path)
        if not isinstance(form, Mapping):
            raise self._build_error(f"HTTP {answer.status} without a contract; check the URL")
        if answer.status == NOT_FOUND and "customCode" not in form:
            return None
        if answer.status != OK:
            message = self._quote(form.get("message"))
            raise self._build_error(f"HTTP {answer.status}: {message}")
        compilation = form.get("compilation")
        name = compilation.get("name") if isinstance(compilation, Mapping) else None
        return {**form, "contractName": name}


class AbiCache:
    """Artifacts from servers, as files of a folder. Unreadable files are fetched again."""

    def __init__(self, folder: Path | None) -> None:
        """Input: the folder, which is created when needed; None to keep nothing."""
        self._folder = folder

    def load(self, service: AbiService, contract: DeployedContract) -> Mapping[str, Any] | None:
        """Return the artifact of a contract; None if the cache has none."""
        if self._folder is None:
            return None
        try:
            form = orjson.loads(self._build_path(self._folder, service, contract).read_bytes())
        except (OSError, ValueError):
            return None
        is_artifact = isinstance(form, Mapping) and isinstance(form.get("abi"), list)
        return form if is_artifact else None

    def save(
        self, service: AbiService, contract: DeployedContract, artifact: Mapping[str, Any]
    ) -> None:
        """Store an artifact. A full disk, or a folder without rights, is no error."""
        if self._folder is None:
            return
        kept = {key: artifact[key] for key in KEPT_FIELDS if artifact.get(key) is not None}
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._build_path(self._folder, service, contract)
            replace_atomically(path, orjson.dumps(kept))
        except OSError:
            return

    @staticmethod
    def _build_path(folder: Path, service: AbiService, contract: DeployedContract) -> Path:
        """Return a contract's file: another code at an address is another contract."""
        digest = keccak(contract.code).hex()[:16]
        place = f"{contract.chain_id}-0x{contract.address.hex()}-{digest}"
        return folder / f"{place}-{service.name}-{service.url_digest}.json"


def fetch_interface(
    service: AbiService, contract: DeployedContract, *, cache: AbiCache | None = None
) -> ContractInterface | None:
    """Return a contract's interface from the cache or a server; None if not verified.

    Raises: AbiServiceError: the server does not answer, or not with an ABI.
    """
    kept = cache or AbiCache(None)
    artifact = kept.load(service, contract)
    is_new = artifact is None
    if artifact is None:
        artifact = service.fetch(contract)
    if artifact is None:
        return None
    found = read_interface(artifact, name="Contract", source=service.name)
    if found is None:
        raise AbiServiceError(
            f"{service.name}: the answer for {contract.checksum_address} has no ABI; pass a file "
            "with --abi"
        )
    if is_new:
        kept.save(service, contract, artifact)
    return found
