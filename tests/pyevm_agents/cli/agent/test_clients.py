"""REST and MCP clients drive whole runs of `agent serve`: default model, treasury, signature.

The deployed agent pays a bill in tokens of the treasury. The operator's key signs the dry run. What
is wrong is refused with its reason, nothing is spent by it, and the run goes on rightly.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from eth_account import Account
from eth_utils import to_checksum_address

from precompiles.spec import FIRST_V
from pyevm_agents.control.access import MAX_BODY_BYTES
from pyevm_agents.manifests.documents import DocumentKind
from pyevm_agents.manifests.validation import validate_document
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.cli.agent.bill_office import (
    AGENT,
    BILLS,
    CAP,
    OWNER,
    RUN,
    TOKEN,
    TREASURY,
    UNIT,
    VALIDATOR,
    BillOffice,
    find_payee,
    make_payer,
)
from tests.pyevm_agents.cli.agent.run_clients import connect_mcp, connect_rest, start_stdio
from tests.pyevm_agents.cli.agent.served_process import serve_process
from tests.pyevm_agents.cli.oracle.conftest import PASSWORD, write_keystore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping
    from pathlib import Path

    from tests.pyevm_agents.cli.agent.run_clients import RunClient

pytestmark = pytest.mark.slow  # processes, and the default model

OPERATOR = Account.from_key(b"\x77" * 32)
STRANGER = Account.from_key(b"\x78" * 32)
VALID_SECONDS = 3_600
SLUGS = ("payer-rest", "payer-mcp", "payer-stdio")


class Served:
    """The folders of agents, a kept chain with bills, and the words that serve them."""

    def __init__(self, parent: Path) -> None:
        folders = [str(make_payer(parent, slug).path) for slug in SLUGS]
        password = parent / "password.txt"
        password.write_text(PASSWORD + "\n")
        keystore = write_keystore(parent / "operator.json", OPERATOR.key)
        words = (*folders, "--no-store")
        self.data = parent / "data"
        with serve_process(*words, "--data", str(self.data)) as printed:
            BillOffice(printed["JSON-RPC"]).open()
        self._words = (
            *words,
            "--treasury", "new",
            "--treasury-call", f"{to_checksum_address(AGENT)}={RUN}",
            "--treasury-token-cap", f"{to_checksum_address(TOKEN)}={CAP}",
            "--operator-keystore", str(keystore),
            "--password-file", str(password),
            "--validator", to_checksum_address(VALIDATOR),
            "--confirm",
        )  # fmt: skip

    def copy(self, name: str) -> tuple[str, ...]:
        """Return the words that serve a copy of the chain, with a new treasury."""
        folder = shutil.copytree(self.data, self.data.with_name(name))
        return (*self._words, "--data", str(folder))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Served:
    return Served(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="module")
def printed(served: Served) -> Iterator[Mapping[str, str]]:
    with serve_process(*served.copy("http")) as printed:
        BillOffice(printed["JSON-RPC"]).approve()
        yield printed


def sign(data: Mapping[str, Any], account: Any = OPERATOR, **members: Any) -> str:  # noqa: ANN401
    """Return a signature of typed data, with other members of its message or its domain."""
    domain, message = ({**data[part]} for part in ("domain", "message"))
    for name, value in members.items():
        (domain if name in domain else message)[name] = value
    full = {**data, "domain": domain, "message": message}
    return "0x" + bytes(account.sign_typed_data(full_message=full).signature).hex()


class Drive:
    """A run of one client, from the agent's registration to its log."""

    def __init__(self, client: RunClient, office: BillOffice, slug: str) -> None:
        self.client, self.office, self.slug = client, office, slug

    def read_spendable(self) -> dict[str, Any]:
        return self.office.read_spendable(OPERATOR.address, STRANGER.address)

    async def create(self, supplier: str, name: str) -> str:
        """Create a task that pays a supplier; return its ID."""
        form = {"goal": f"Pay {BILLS[supplier]} to {supplier}", "agentSlug": self.slug}
        task_id = f"{self.slug}-{name}"
        task = await self.client.use("openfi_create_task", task={**form, "taskId": task_id})
        assert (task["status"], task["operatorWallet"]) == ("pending", OPERATOR.address)
        return task_id

    async def register(self) -> None:
        """Give the agent its identity; before it, no run of it gets beyond the trust check."""
        early = await self.create("Omar", "early")
        before = self.read_spendable()
        run = await self.client.use("openfi_run_task", taskId=early)
        assert (run["failedPhase"], run["taskStatus"]) == ("trust_check", "rejected")
        assert self.read_spendable() == before
        identity = await self.client.use("openfi_register_identity", agentSlug=self.slug)
        again = await self.client.use("openfi_register_identity", agentSlug=self.slug)
        assert (identity["isNew"], again["isNew"]) == (True, False)
        assert again["agentId"] == identity["agentId"]
        trust = await self.client.use("openfi_get_trust", agentSlug=self.slug)
        assert (trust["snapshot"]["hasIdentity"], trust["failures"]) == (True, [])

    async def check_treasury(self) -> None:
        """Read the treasury's rules."""
        form = await self.client.use("openfi_get_treasury")
        held = self.office.count_tokens(to_checksum_address(TREASURY))
        rules = {"confirmAbove": str(2**256 - 1)}
        assert form.pop("assets") == [
            {**rules, "asset": "0x" + "00" * 20, "cap": str(10**17), "balance": str(10**18)},
            {**rules, "asset": to_checksum_address(TOKEN), "cap": str(CAP), "balance": str(held)},
        ]
        assert form == {
            "address": to_checksum_address(TREASURY), "owner": to_checksum_address(OWNER),
            "delegate": to_checksum_address(OWNER), "balanceWei": str(10**18), "maxSteps": 50,
            "maxOnchainWrites": 20, "confirmsAlways": False, "isPaused": False,
        }  # fmt: skip

    async def dry_run(self, supplier: str, name: str) -> str:
        """Plan a task, then make its dry run; return the ID of the run, which waits."""
        task_id = await self.create(supplier, name)
        run = await self.client.use("openfi_plan_task", taskId=task_id)
        assert [each["phase"] for each in run["phases"]] == ["discover", "plan"]
        run_id = str(run["runId"])
        run = await self.client.use("openfi_continue_run", runId=run_id, until="dry_run")
        assert (run["failure"], run["waitsForConfirmation"]) == (None, True)
        return run_id

    async def read_typed_data(self, run_id: str, expiry: int) -> Any:  # noqa: ANN401 - JSON
        """Return what is to be signed; its parts are those of the run, and it has the digest."""
        form = await self.client.use("openfi_get_confirmation", runId=run_id, expiry=expiry)
        assert form["operatorWallet"] == OPERATOR.address
        data = form["typedData"]
        assert data["domain"]["verifyingContract"] == to_checksum_address(TREASURY)
        run = await self.client.use("openfi_get_run", runId=run_id)
        digests = run["phases"][-1]["result"]["digests"]
        assert data["message"]["digest"] == digests["writes"]
        assert data["message"]["trace"] == digests["trace"]
        signed = OPERATOR.sign_typed_data(full_message=data).message_hash
        assert "0x" + bytes(signed).hex() == form["digest"]
        return data

    async def try_wrong_confirmations(self, run_id: str, other_id: str) -> None:
        """Hand in signatures that are not the operator's of this dry run."""
        expiry = int(time.time()) + VALID_SECONDS
        data = await self.read_typed_data(run_id, expiry)
        other = await self.read_typed_data(other_id, expiry)
        wanted = f"must be signed by the operator, {OPERATOR.address}"
        plain = sign(data)
        parity = int(plain[-2:], 16) - FIRST_V
        for signature, reason in (
            (sign(data, STRANGER), f"this one is of {STRANGER.address}"),
            (sign(other), wanted),
            (sign(data, chainId=1), wanted),
            (sign(data, verifyingContract="0x" + "11" * 20), wanted),
            (sign(data, expiry=expiry + 1), f"with expiry {expiry}"),
            (plain[:-2] + f"{parity:02x}", f"v {parity}: must be 27 or 28"),
            ("0x1234", "signature of 2 bytes; must have 65"),
            ("1234", "signature '1234': must match pattern"),
        ):
            given = {"runId": run_id, "expiry": expiry, "signature": signature}
            assert reason in await self.client.fail("openfi_confirm_run", **given), signature
        late = await self.read_typed_data(run_id, 1)
        expired = {"runId": run_id, "expiry": 1, "signature": sign(late)}
        assert "has expired at 1" in await self.client.fail("openfi_confirm_run", **expired)

    async def try_wrong_requests(self, run_id: str) -> None:
        """Make requests that name nothing, or have another form."""
        fail, task = self.client.fail, f"{self.slug}-none"
        unknown = "run 'none': not in"
        assert unknown in await fail("openfi_get_run", runId="none")
        assert unknown in await fail("openfi_get_confirmation", runId="none", expiry=5)
        assert unknown in await fail("openfi_confirm_run", runId="none", expiry=5, signature="0x00")
        assert f"task '{task}': not in" in await fail("openfi_run_task", taskId=task)
        told = await fail("openfi_create_task", task={"goal": "x", "agentSlug": "none"})
        assert "agent 'none': not installed; there are payer-rest, payer-mcp" in told
        assert "goal 5: must be a valid string" in await fail(
            "openfi_create_task", task={"goal": 5}
        )
        told = await fail("openfi_create_task", task={"goal": "x", "budget": {"maxSteps": "all"}})
        assert "budget.maxSteps 'all': must be a valid integer" in told
        told = await fail("openfi_confirm_run", runId=run_id, expiry="soon", signature="0x00")
        assert "expiry 'soon': must be a valid integer" in told
        assert "is missing; pass it" in await fail("openfi_create_task")
        told = await fail("openfi_create_task", task={"goal": "x" * MAX_BODY_BYTES})
        assert "at most" in told

    async def end(self, run_id: str, supplier: str) -> None:
        """Confirm a run rightly, and read everything that it leaves."""
        use, amount = self.client.use, BILLS[supplier] * UNIT
        payee, treasury = find_payee(supplier), to_checksum_address(TREASURY)
        before, held = self.read_spendable(), self.office.count_tokens(treasury)
        expiry = int(time.time()) + VALID_SECONDS
        signature = sign(await self.read_typed_data(run_id, expiry))
        given = {"runId": run_id, "expiry": expiry, "signature": signature}
        run = await use("openfi_confirm_run", **given)
        assert (run["status"], run["failure"]) == ("completed", None)
        assert f"Paid {BILLS[supplier]} USDC to {supplier}" in run["summary"]["text"]
        assert self.office.count_tokens(treasury) == held - amount
        assert self.office.count_tokens(payee) == amount
        after = self.read_spendable()
        assert after[OPERATOR.address] == before[OPERATOR.address], "its signature is enough"
        told = await self.client.fail("openfi_confirm_run", **given)
        assert "waits for no confirmation" in told
        receipts = await use("openfi_get_receipts", runId=run_id)
        kinds = [each["type"] for each in receipts]
        assert kinds == ["dry_run", "transaction", "tool", "verification"]
        verified = await use("openfi_verify_run", runId=run_id)
        assert (verified["isVerified"], verified["difference"]) == (True, None)
        validation = await use("openfi_get_validation", runId=run_id)
        assert (validation["response"], validation["tag"]) == (100, "reexecution")
        assert validation["validator"] == to_checksum_address(VALIDATOR)
        log = await use("openfi_get_manifest", document="agent_log.json", agentSlug=self.slug)
        assert validate_document(log, DocumentKind.LOG) == ()
        assert log["runs"][-1]["executionDigest"] == verified["executionDigest"]
        assert self.read_spendable() == after, "reading costs nothing"


async def drive_run(client: RunClient, office: BillOffice, slug: str, supplier: str) -> None:
    """Drive a run of an agent that pays a supplier; try everything wrong on the way."""
    drive = Drive(client, office, slug)
    await drive.check_treasury()
    await drive.register()
    run_id = await drive.dry_run(supplier, "right")
    other_id = await drive.dry_run(supplier, "other")
    before = drive.read_spendable()
    await drive.try_wrong_confirmations(run_id, other_id)
    await drive.try_wrong_requests(run_id)
    await client.use("openfi_cancel_run", runId=other_id)
    assert drive.read_spendable() == before, "nothing is spent"
    await drive.end(run_id, supplier)


@asynccontextmanager
async def limit_time() -> AsyncIterator[None]:
    async with asyncio.timeout(HANG_SECONDS):
        yield


def test_a_rest_client_drives_a_run(printed: Mapping[str, str]) -> None:
    async def talk() -> None:
        async with limit_time(), connect_rest(printed) as client:
            await drive_run(client, BillOffice(printed["JSON-RPC"]), "payer-rest", "Acme")

    asyncio.run(talk())


def test_an_mcp_client_drives_a_run_over_http(printed: Mapping[str, str]) -> None:
    async def talk() -> None:
        async with limit_time(), connect_mcp(printed) as client:
            await drive_run(client, BillOffice(printed["JSON-RPC"]), "payer-mcp", "Omar")

    asyncio.run(talk())


def test_an_mcp_client_drives_a_run_over_the_streams_of_a_process(
    served: Served, tmp_path: Path
) -> None:
    async def talk() -> None:
        words = served.copy("stdio")
        async with limit_time(), start_stdio(words, tmp_path / "errors") as (client, printed):
            office = BillOffice(printed["JSON-RPC"])
            office.approve()
            await drive_run(client, office, "payer-stdio", "Mia")
            await exceed_the_cap(Drive(client, office, "payer-stdio"))

    asyncio.run(talk())


async def exceed_the_cap(drive: Drive) -> None:
    """Run a task whose bill is above the treasury's cap."""
    before, task_id = drive.read_spendable(), await drive.create("Quinn", "dear")
    run = await drive.client.use("openfi_run_task", taskId=task_id)
    assert (run["status"], run["failedPhase"]) == ("failed", "dry_run")
    token = to_checksum_address(TOKEN)
    spent = f"the treasury: the task would have spent {900 * UNIT} base units of {token}"
    assert f"{spent}, of at most {CAP}; its owner can raise that cap" in run["failure"]
    assert drive.read_spendable() == before, "nothing is spent"
