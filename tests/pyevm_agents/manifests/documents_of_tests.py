"""Documents that others published, and manifests of tests.

`data/erc8004-registration.jsonc` is the example of ERC-8004, section "Agent URI and Agent
Registration File", word for word: ERCS/erc-8004.md of the repository ethereum/ERCs at commit
503591a6e of 2026-01-25 (CC0). `data/openfi-*.json` are the examples of OpenFi's agent standard,
word for word.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
from hypothesis import strategies as st

from pyevm_agents.manifests.agent_folder import AgentFolder
from pyevm_agents.manifests.agent_manifest import (
    ComputeConstraints,
    PackageIdentity,
    PackageManifest,
    PackageTool,
    SafetyRules,
)
from pyevm_agents.manifests.documents import DocumentKind, detect_kind, load_schema
from pyevm_agents.manifests.validation import validate_document

if TYPE_CHECKING:
    from collections.abc import Mapping

DATA = Path(__file__).with_name("data")

OWNER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
REGISTRY = "0x8004A818BFB912233c491871b3d84c89A494BD9e"
HASH = "0x" + "ab" * 32

COMMENT = re.compile(r"^(.*?[\],}])?\s*//.*$|^(.*?\",?)\s+//.*$", re.MULTILINE)


def read_erc8004_example() -> dict[str, Any]:
    """Return ERC-8004's example, without its comments, with an address for its placeholder."""
    text = (DATA / "erc8004-registration.jsonc").read_text("utf-8")
    text = COMMENT.sub(lambda match: match[1] or match[2] or "", text)
    placeholder = "{namespace}:{chainId}:{identityRegistry}"
    assert placeholder in text
    form: dict[str, Any] = json.loads(text.replace(placeholder, f"eip155:1:{REGISTRY}"))
    return form


def read_openfi_example(kind: DocumentKind) -> dict[str, Any]:
    """Return OpenFi's example of a document, with values for its placeholders `0x...`."""
    names = {
        DocumentKind.MANIFEST: "openfi-agent",
        DocumentKind.LOG: "openfi-agent-log",
        DocumentKind.OPENFI_REGISTRATION: "openfi-registration",
    }
    text = (DATA / f"{names[kind]}.json").read_text("utf-8")
    text = re.sub(r'(Wallet": )"0x\.\.\."', rf'\1"{OWNER}"', text)
    text = re.sub(r'(TxHash": )"0x\.\.\."', rf'\1"{HASH}"', text)
    form: dict[str, Any] = json.loads(text)
    return form


def read_example(kind: DocumentKind) -> dict[str, Any]:
    """Return a published example of a kind."""
    is_erc8004 = kind is DocumentKind.REGISTRATION
    return read_erc8004_example() if is_erc8004 else read_openfi_example(kind)


def build_run(run_id: str = "run_1", **members: object) -> dict[str, Any]:
    """Return a run of a log."""
    [run] = read_openfi_example(DocumentKind.LOG)["runs"]
    form: Mapping[str, Any] = {**run, "runId": run_id, **members}
    return {**form}


def build_manifest(**members: Any) -> PackageManifest:  # noqa: ANN401 - fields of a dataclass
    """Return the manifest of an agent that is registered."""
    identity = PackageIdentity(
        registry=REGISTRY, agent_id=7, registration_hash=HASH, chain_id=31_337
    )
    fields: dict[str, Any] = {
        "name": "My Agent",
        "slug": "my-agent",
        "version": "0.1.0",
        "description": "What this agent does",
        "owner_wallet": OWNER,
        "operator_wallet": OWNER,
        "identity": identity,
        "endpoints": {"api": "http://127.0.0.1:3001", "mcp": "http://127.0.0.1:3001/mcp"},
    }
    return PackageManifest(**fields | members)


texts = st.text(min_size=1, max_size=20)
words = st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,8}){0,2}", fullmatch=True)
counts = st.integers(0, 2**64)
urls = words.map(lambda each: f"https://{each}.example/path")
addresses = st.binary(min_size=20, max_size=20).map(lambda each: "0x" + each.hex())


@st.composite
def manifests(draw: st.DrawFn) -> PackageManifest:
    """Return any manifest that is valid."""
    writes = draw(counts)
    identities = st.builds(
        PackageIdentity,
        registry=addresses,
        agent_id=counts,
        registration_hash=st.binary(min_size=32, max_size=32).map(lambda each: "0x" + each.hex()),
        chain_id=st.integers(1, 2**64),
    )
    tools = st.builds(PackageTool, name=texts, description=texts)
    unique_words = st.lists(words, unique=True, max_size=3).map(tuple)
    endpoint_names = st.sampled_from(["api", "mcp", "web", "a2a", "oasf"])
    return PackageManifest(
        name=draw(texts),
        slug=draw(words),
        version=draw(st.sampled_from(["0.1.0", "1.0.0-rc.1", "2.3.4+build.5"])),
        description=draw(texts),
        owner_wallet=draw(addresses),
        operator_wallet=draw(addresses),
        identity=draw(st.none() | identities),
        capabilities=draw(unique_words),
        tools=tuple(draw(st.lists(tools, max_size=3, unique_by=lambda each: each.name))),
        constraints=ComputeConstraints(
            max_steps=draw(st.integers(1, 99)),
            max_tool_calls=draw(counts),
            max_runtime_ms=draw(st.integers(1, 2**40)),
            max_onchain_writes=writes,
            max_gas_wei=draw(st.none() | st.integers(0, 2**255)),
        ),
        task_categories=draw(st.lists(words, unique=True, min_size=1, max_size=3).map(tuple)),
        safety=SafetyRules(
            requires_dry_run=draw(st.booleans()),
            requires_verification=draw(st.booleans()),
            max_onchain_writes_per_run=draw(st.integers(0, writes)),
        ),
        endpoints=draw(st.dictionaries(endpoint_names, urls)),
        image=draw(st.none() | urls),
        supported_trust=draw(unique_words),
        x402_support=draw(st.booleans()),
        active=draw(st.booleans()),
    )


def write_agent_folder(path: Path) -> AgentFolder:
    """Write an agent's documents and an empty module into a folder."""
    folder = AgentFolder(path)
    folder.write_manifest(build_manifest())
    folder.write_empty_log(build_manifest())
    folder.module_path.write_text("AGENT = None\n")
    return folder


def read_written(text: str | bytes, kind: DocumentKind) -> dict[str, Any]:
    """Return a document that the product wrote; check it by its schema as anybody would.

    A registration document as ERC-8004 has it must have the members of its example as well.
    """
    form: dict[str, Any] = json.loads(text)
    jsonschema.Draft202012Validator(load_schema(kind)).validate(form)
    assert validate_document(form, kind) == ()
    assert detect_kind(form) is kind
    if kind is DocumentKind.REGISTRATION:
        example = read_erc8004_example()
        assert form.keys() == example.keys()
        members = {name for service in example["services"] for name in service}
        assert form["services"]
        assert all({"name", "endpoint"} <= each.keys() <= members for each in form["services"])
        [registration] = example["registrations"]
        assert all(each.keys() == registration.keys() for each in form["registrations"])
    return form
