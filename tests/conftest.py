"""A chain with a scripted byte model, and an account to send from."""

from __future__ import annotations

import faulthandler
import os
import re
import signal
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from eth_keys.datatypes import PrivateKey
from eth_typing import Address
from hypothesis import HealthCheck, settings

from precompiles.gas import DEFAULT_SCHEDULE
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain import Call, Chain, GenesisAccount
from pyevm_agents.config import DEFAULT_FORK, ChainConfig
from pyevm_agents.models import LlamaModel, Vocabulary
from pyevm_agents.models.gguf import adapter as gguf_adapter
from pyevm_agents.models.llama import model as llama_model
from pyevm_agents.vm import AgentComputation
from tests.byte_model import PROFILE, ByteModel
from tests.reduced_model import write_reduced_model
from tests.samples import VARIABLE, Sample, read_sample, write_figures

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
    from pathlib import Path

    from eth.abc import ComputationAPI, ReceiptAPI

    from precompiles.gas import GasSchedule
    from precompiles.language_model import GenerationRequest, ModelProfile

ALL_TOOLS = "PYEVM_AGENTS_TESTS_NEED_ALL_TOOLS"
"""Set where `CI` is: a test that would be skipped for a missing tool fails."""

# A loaded machine makes single examples slow; pytest's own limit on a test's time is enough.
# CI tries the same examples in each run. Elsewhere they are random.
settings.register_profile(
    "tests",
    max_examples=30,
    deadline=None,
    print_blob=True,
    derandomize=not {"CI", ALL_TOOLS}.isdisjoint(os.environ),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("tests"), max_examples=200)
settings.load_profile("tests")

SLOW_SECONDS = 900
"""How long a slow test may take; pyproject.toml has the limit of the others."""

END_SECONDS = 180
"""How long the end of a test may take."""

OWNER_KEY = PrivateKey(b"\x01" * 32)
OWNER = Address(OWNER_KEY.public_key.to_canonical_address())
STRANGER_KEY = PrivateKey(b"\x02" * 32)
STRANGER = Address(STRANGER_KEY.public_key.to_canonical_address())


MAY_BE_MISSING = re.compile(
    "needs training/(numeric/)?requirements.txt|eth-tester is not|beside the checkout"
)
"""What CI does without: PyTorch, a package that ours excludes, vectors that are no part of this."""

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

STDERR = pytest.StashKey[int]()
"""The process' own, whatever pytest captures."""


def pytest_configure(config: pytest.Config) -> None:
    """Keep the process' own stderr; hide `CI`, which changes pytest's and hypothesis' output."""
    if os.environ.pop("CI", ""):
        os.environ[ALL_TOOLS] = "1"
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        config.stash[STDERR] = os.dup(2)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close it."""
    os.close(config.stash[STDERR])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give slow tests their time; evidence takes as long as it takes."""
    if VARIABLE in os.environ:
        return
    for item in items:
        if item.get_closest_marker("slow") is not None:
            item.add_marker(pytest.mark.timeout(SLOW_SECONDS))


def fail_if_skipped(report: Report) -> Report:
    """Make a failure of a skip for a missing tool, where all tools have to be there."""
    if report.outcome != "skipped" or hasattr(report, "wasxfail") or ALL_TOOLS not in os.environ:
        return report
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if not MAY_BE_MISSING.search(reason):
        report.outcome = "failed"
        report.longrepr = f"{reason}: CI has to have it"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail where CI would skip a test."""
    return fail_if_skipped((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail where CI would skip a file."""
    return fail_if_skipped((yield))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """End the process where the end of a test hangs: a limit holds once, and that was the test's.

    pytest's own watch of a hanging process is gone after the first failure, too.
    """
    faulthandler.dump_traceback_later(END_SECONDS, exit=True, file=item.config.stash[STDERR])
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c_for_children() -> Iterator[None]:
    """Let tests' processes take SIGINT, which a shell's background job inherits as ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True, scope="session")
def _caches_of_no_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("caches")))
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(autouse=True, scope="session")
def _bytecode_for_children(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let tests' processes share bytecode, also where the environment keeps none.

    Without bytecode the command takes 3.4 seconds to start in place of 1.3, and an engine 2.1 in
    place of 0.8; the tests start hundreds.
    """
    with pytest.MonkeyPatch.context() as patch:
        if sys.dont_write_bytecode:
            patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
            patch.setenv("PYTHONPYCACHEPREFIX", str(folder_of_session(tmp_path_factory) / "pyc"))
        yield


def folder_of_session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that the workers of a session share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if base.name.startswith("popen-") else base


@pytest.fixture(scope="session")
def vocabulary() -> Iterator[Vocabulary]:
    """The default model's vocabulary, in one process for all tests of a worker."""
    with Vocabulary() as opened:
        yield opened


@pytest.fixture(scope="session")
def llama() -> Iterator[LlamaModel]:
    """The default model on one thread, in one process for all tests of a worker."""
    with LlamaModel(threads=1) as model:
        yield model


@pytest.fixture(scope="session")
def reduced_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a model that computes little, once for all workers (`tests.reduced_model`)."""
    path = folder_of_session(tmp_path_factory) / "reduced.gguf"
    if not path.exists():
        write_reduced_model(path)
    return path


@pytest.fixture(scope="session")
def reduced_llama(reduced_model: Path) -> Iterator[LlamaModel]:
    """The reduced model on one thread, in one process for all tests of a worker."""
    with LlamaModel(reduced_model, threads=1) as model:
        yield model


@pytest.fixture(scope="module")
def reduced_default(
    reduced_model: Path, llama: LlamaModel, vocabulary: Vocabulary
) -> Iterator[Path]:
    """Make the reduced model the default one for a module; the session's own have their paths."""
    assert llama.path == vocabulary.path != reduced_model
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(llama_model, "find_default_model", lambda: reduced_model)
        patch.setattr(gguf_adapter, "find_default_adapter", lambda: None)
        yield reduced_model


@pytest.fixture
def sample(request: pytest.FixtureRequest) -> Iterator[Sample]:
    """Number of examples of the test: its mark `sample`, or the count from `make evidence`."""
    mark = request.node.get_closest_marker("sample")
    found = read_sample(mark.kwargs)
    yield found
    write_figures(found)


@dataclass
class Bench:
    """A chain, its model, and short ways to deploy, send and call."""

    chain: Chain
    model: ByteModel

    def send(
        self,
        to: Address | None,
        data: bytes,
        *,
        gas: int | None = None,
        value_wei: int = 0,
        key: PrivateKey = OWNER_KEY,
    ) -> tuple[ReceiptAPI, ComputationAPI]:
        sender = Address(key.public_key.to_canonical_address())
        call = Call(to=to, sender=sender, data=data, gas=gas, value_wei=value_wei)
        unsigned = self.chain.build_unsigned_transaction(call)
        signed = unsigned.as_signed_transaction(key, chain_id=self.chain.config.chain_id)
        mined = self.chain.mine([signed])
        return mined.receipts[0], mined.computations[0]

    def deploy(self, name: str, *arguments: object) -> Address:
        receipt, computation = self.send(None, load_artifact(name).encode_creation(*arguments))
        assert receipt.state_root == b"\x01", computation.error
        return computation.msg.storage_address

    def call(
        self, to: Address, data: bytes, *, gas: int | None = None, value_wei: int = 0
    ) -> AgentComputation:
        call = Call(to=to, sender=OWNER, data=data, gas=gas, value_wei=value_wei)
        computation = self.chain.call(call).computation
        assert isinstance(computation, AgentComputation)
        return computation

    def read(self, name: str, address: Address, function: str, *arguments: object) -> Any:  # noqa: ANN401
        contract = load_artifact(name)
        computation = self.call(address, contract.encode_call(function, *arguments))
        computation.raise_if_error()
        return contract.decode_result(function, computation.output)


@pytest.fixture
def bench() -> Callable[..., Bench]:
    """Make a chain whose model generates the given texts; `codes` are accounts of genesis."""

    def make(
        script: Iterable[str] | Callable[[GenerationRequest], str] = (),
        *,
        profile: ModelProfile = PROFILE,
        schedule: GasSchedule = DEFAULT_SCHEDULE,
        block_gas_limit: int = 30_000_000,
        codes: Mapping[Address, bytes] | None = None,
        fork: str = DEFAULT_FORK,
    ) -> Bench:
        model = ByteModel(script)
        config = ChainConfig(
            models=(profile,), schedule=schedule, block_gas_limit=block_gas_limit, fork=fork
        )
        accounts = {
            OWNER: GenesisAccount(balance_wei=10**30),
            STRANGER: GenesisAccount(balance_wei=10**30),
        }
        for address, code in (codes or {}).items():
            accounts[address] = GenesisAccount(code=code, nonce=1)
        return Bench(Chain(config, {profile.name: model}, accounts=accounts), model)

    return make
