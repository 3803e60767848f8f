"""The plugin in a user's suite, with its own folder and, where needed, its own process."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from textwrap import dedent

import pytest

from tests.pyevm_agents.forking.fake_remote import build_remote_chain, fake_remote

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[3]

PLAIN = """
def test_plain():
    assert 1 + 1 == 2
"""

INI = """
[pytest]
filterwarnings = error
asyncio_default_fixture_loop_scope = function
"""

HEAVY = ("eth", "web3", "llguidance", "numpy", "rlp", "eth_abi", "pyevm_agents.testing")

SCRIPTED = """
from pyevm_agents.testing import answer, use

EXECUTOR = "0x" + "19".rjust(40, "0")

def clerk(deploy, *tools):
    return deploy(
        "SimpleAgent", agentExecutorContract=EXECUTOR, modelId="default", name="Clerk",
        description="Counts", inputDescription="What", basePrompt="You count.",
        tools=list(tools), agentMaxIterations=3,
    )
"""


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pytest's cache for all suites here, with the model's facts.

    Modules imported before a suite stay imported after it.
    """
    import_module("pyevm_agents.testing.web3_connection")
    import_module("pyevm_agents.testing.chain")
    return tmp_path_factory.mktemp("cache")


Run = Callable[..., pytest.RunResult]


@pytest.fixture
def written(pytester: pytest.Pytester, facts: Path) -> Callable[[str, str], None]:
    """Write a suite whose warnings are errors."""

    def write(text: str, ini: str) -> None:
        pytester.makeini(f"{INI}cache_dir = {facts}\n{ini}")
        pytester.makepyfile(SCRIPTED + dedent(text) if "clerk" in text else text)

    return write


@pytest.fixture
def suite(pytester: pytest.Pytester, written: Callable[[str, str], None]) -> Run:
    """Write a suite and run it in this process."""

    def run(text: str, *options: str, ini: str = "") -> pytest.RunResult:
        written(text, ini)
        return pytester.runpytest_inprocess(*options)

    return run


@pytest.fixture
def fresh(
    pytester: pytest.Pytester,
    written: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> Run:
    """Write a suite and run it in a process of its own."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    def run(text: str, *options: str, ini: str = "") -> pytest.RunResult:
        written(text, ini)
        return pytester.runpytest_subprocess(*options)

    return run


def test_a_suite_that_does_not_use_it_imports_nothing(
    fresh: Run, pytester: pytest.Pytester
) -> None:
    pytester.makeconftest(
        f"""
        import sys

        def pytest_unconfigure():
            print("IMPORTED", [name for name in {HEAVY} if name in sys.modules])
        """
    )
    result = fresh(PLAIN, "-s")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*IMPORTED []*"])


def test_for_its_parts_nobody_looks_through_what_is_installed(
    suite: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_for: list[str | None] = []
    look = pytest.PytestPluginManager.load_setuptools_entrypoints

    def counted(self: pytest.PytestPluginManager, group: str, name: str | None = None) -> int:
        looked_for.append(name)
        return look(self, group, name)

    monkeypatch.setattr(pytest.PytestPluginManager, "load_setuptools_entrypoints", counted)
    suite(PLAIN).assert_outcomes(passed=1)
    assert not [name for name in looked_for if name and "pyevm" in name]


def test_its_options_fixtures_and_markers_are_shown(
    suite: Run,
) -> None:
    told = suite(PLAIN, "--help").stdout.str()
    for name in (
        *("--agent-model", "agent_model", "agent_artifacts"),
        *("--agent-schedule", "agent_schedule"),
        *("--agent-fork", "agent_fork"),
        *("--agent-fork-url", "agent_fork_url"),
        *("--agent-fork-block-number", "agent_fork_block_number"),
    ):
        assert name in told
    told = suite(PLAIN, "--fixtures").stdout.str()
    for name in ("agent_chain", "w3", "accounts", "deploy", "model", "as_account"):
        assert re.search(rf"^{name} -- .*plugin.py", told, re.MULTILINE), name
    told = suite(PLAIN, "--markers").stdout.str()
    for name in (
        *("agent_model(name)", "agent_schedule(file)", "agent_fork(name)"),
        *("agent_fork_url(url)", "agent_fork_block_number(number)"),
    ):
        assert f"@pytest.mark.{name}" in told


def test_its_fixtures_are_one_chain(suite: Run) -> None:
    result = suite(
        """
        def test_all(agent_chain, w3, accounts, deploy, model, as_account):
            assert w3 is agent_chain.w3 and model is agent_chain.model
            assert accounts == agent_chain.accounts == tuple(w3.eth.accounts)
            counter = deploy("CounterTool")
            with as_account(accounts[3]):
                sent = counter.functions.add(3).transact()
            assert w3.eth.get_transaction(sent)["from"] == accounts[3]

        def test_begins_anew(w3):
            assert w3.eth.block_number == 0
        """
    )
    result.assert_outcomes(passed=2)


def test_a_script_that_is_not_used_up_fails_the_test(
    suite: Run,
) -> None:
    result = suite(
        """
        def test_unused(model):
            model.script(answer("done"))

        def test_used(agent_chain, deploy, model):
            agent = clerk(deploy, deploy("CounterTool"))
            model.script(use("CounterTool", amount=5), answer("done"))
            agent_chain.ask(agent, "Add five")

        def test_fails_by_itself(model):
            model.script(answer("done"))
            assert 1 == 2
        """
    )
    result.assert_outcomes(passed=1, failed=2)
    told = result.stdout.str()
    assert "assert 1 == 2" in told
    assert "ERROR" not in told


@pytest.mark.slow
def test_workers_share_nothing_and_each_has_a_vocabulary(
    fresh: Run,
) -> None:
    result = fresh(
        """
        import os
        import pytest

        @pytest.mark.parametrize("amount", range(6))
        def test_counts(agent_chain, deploy, model, amount):
            counter = deploy("CounterTool")
            agent = clerk(deploy, counter)
            model.script(use("CounterTool", amount=amount), answer("done"))
            agent_chain.ask(agent, "Add to it")
            assert counter.functions.number().call() == amount
            print("VOCABULARY", os.getpid(), agent_chain.genesis.vocabulary.engine.process_id)
        """,
        "-n2",
        "-rP",
    )
    result.assert_outcomes(passed=6)
    pairs = set(re.findall(r"^VOCABULARY (\d+) (\d+)$", result.stdout.str(), re.MULTILINE))
    assert len(pairs) == len({parent for parent, _ in pairs}) == len({one for _, one in pairs}) <= 2
    assert not any(Path("/proc", child).exists() for _, child in pairs)


def test_coroutines_use_it(suite: Run) -> None:
    result = suite(
        """
        import pytest
        from web3 import AsyncWeb3

        @pytest.mark.asyncio
        async def test_both_ways(agent_chain, w3, accounts, deploy):
            from pyevm_agents.rpc.web3_provider import AsyncAgentProvider

            counter = deploy("CounterTool")
            counter.functions.add(3).transact()
            other = AsyncWeb3(AsyncAgentProvider(agent_chain.service))
            assert await other.eth.block_number == 2
            assert await other.eth.get_balance(accounts[9]) == 10_000 * 10**18
        """
    )
    result.assert_outcomes(passed=1)


def test_contracts_of_the_project_are_found(suite: Run, pytester: pytest.Pytester) -> None:
    folder = pytester.mkdir("built")
    (folder / "Vault.json").write_text(json.dumps({"abi": [], "bytecode": "0x00"}))
    text = """
        def test_it(deploy):
            assert deploy("Vault").address
        """
    result = suite(text)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*there is no contract 'Vault'*"])
    suite(text, ini="agent_artifacts = built").assert_outcomes(passed=1)


@pytest.mark.slow
def test_another_model_is_chosen(suite: Run) -> None:
    text = """
        import pytest

        def test_run(agent_chain):
            assert agent_chain.chain.config.models[0].name == "NAME"

        @pytest.mark.agent_model("smollm2-135m-instruct")
        def test_marker(agent_chain):
            assert agent_chain.chain.config.models[0].name == "smollm2-135m-instruct"
        """
    base, default = "smollm2-135m-instruct", "smollm2-135m-react"
    suite(text.replace("NAME", default)).assert_outcomes(passed=2)
    suite(text.replace("NAME", base), f"--agent-model={base}").assert_outcomes(passed=2)
    suite(text.replace("NAME", base), ini=f"agent_model = {base}").assert_outcomes(passed=2)


def test_an_unknown_model_is_told(suite: Run) -> None:
    result = suite(
        """
        import pytest

        def test_run(agent_chain): ...

        @pytest.mark.agent_model
        def test_marker(agent_chain): ...
        """,
        "--agent-model=gpt",
    )
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(
        [
            "*there is no model 'gpt', and no file; `pyevm-agents model list`*",
            "*takes the name of one model*",
        ]
    )


PRICED = """
    import pytest
    from pyevm_agents.testing import ScheduleFile, answer

    def test_run(agent_chain, model, deploy):
        (profile,) = agent_chain.chain.config.models
        assert (profile.output_token_gas, agent_chain.chain.config.schedule.tool_gas) == RUN
        model.script(answer("done"))
        receipt = agent_chain.ask(clerk(deploy), "Nothing")
        (step,) = agent_chain.steps(receipt["transactionHash"])
        assert step.inference.output_gas == RUN[0] * step.inference.output_tokens

    @pytest.mark.agent_schedule("marked.json")
    def test_marker(agent_chain):
        assert agent_chain.chain.config.schedule.tool_gas == 77

    @pytest.mark.agent_schedule(ScheduleFile(schedule={"tool_gas": 78}))
    def test_marker_with_a_schedule(agent_chain):
        assert agent_chain.chain.config.schedule.tool_gas == 78
    """


@pytest.mark.slow
def test_a_schedule_is_chosen(suite: Run, pytester: pytest.Pytester) -> None:
    written = pytester.mkdir("prices") / "written.json"
    written.write_text('{"models": {"default": {"output_token_gas": 29}}}')
    told = pytester.path / "told.json"
    told.write_text('{"schedule": {"tool_gas": 41}}')
    (pytester.path / "marked.json").write_text('{"schedule": {"tool_gas": 77}}')
    suite(PRICED.replace("RUN", "(10_000, 5_000)")).assert_outcomes(passed=3)
    ini = "agent_schedule = prices/written.json"
    suite(PRICED.replace("RUN", "(29, 5_000)"), ini=ini).assert_outcomes(passed=3)
    option = "--agent-schedule=told.json"
    suite(PRICED.replace("RUN", "(10_000, 41)"), option, ini=ini).assert_outcomes(passed=3)


def test_a_path_in_the_configuration_is_from_the_root_and_an_options_from_here(
    suite: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """
        def test_run(agent_chain):
            assert agent_chain.chain.config.schedule.tool_gas == GAS
        """
    (pytester.path / "prices.json").write_text('{"schedule": {"tool_gas": 41}}')
    below = pytester.mkdir("below")
    (below / "prices.json").write_text('{"schedule": {"tool_gas": 43}}')
    root = f"--rootdir={pytester.path}", f"-c{pytester.path / 'tox.ini'}", str(pytester.path)
    monkeypatch.chdir(below)
    ini = "agent_schedule = prices.json"
    suite(text.replace("GAS", "41"), *root, ini=ini).assert_outcomes(passed=1)
    option = "--agent-schedule=prices.json"
    suite(text.replace("GAS", "43"), *root, option, ini=ini).assert_outcomes(passed=1)


def test_a_bad_schedule_is_told(suite: Run, pytester: pytest.Pytester) -> None:
    (pytester.path / "prices.json").write_text('{"schedule": {"tool_gas": 0}}')
    result = suite(
        """
        import pytest

        def test_run(agent_chain): ...

        @pytest.mark.agent_schedule("none.json")
        def test_file(agent_chain): ...

        @pytest.mark.agent_schedule
        def test_marker(agent_chain): ...
        """,
        "--agent-schedule=prices.json",
    )
    result.assert_outcomes(errors=3)
    result.stdout.fnmatch_lines(
        [
            "*schedule in *prices.json: schedule.tool_gas is 0; choose from 1*",
            "*schedule in *none.json: the file can't be read*",
            "*the marker agent_schedule of *takes one schedule*",
        ]
    )


MODULE = """
    import pytest

    COUNTERS = []

    @pytest.fixture(scope="module")
    def counter(module_agent_chain):
        COUNTERS.append(module_agent_chain.deploy("CounterTool"))
        return COUNTERS[-1]
    """


def test_the_tests_of_a_module_share_its_chain_and_leave_it_unchanged(suite: Run) -> None:
    result = suite(
        MODULE
        + """
    @pytest.fixture
    def raised(counter):
        counter.functions.add(10).transact()

    @pytest.mark.parametrize("turn", range(2))
    def test_by_transactions(counter, turn):
        assert counter.functions.number().call() == 0
        counter.functions.add(3).transact()

    def test_with_a_fixture(counter, raised):
        assert counter.functions.number().call() == 10

    @pytest.mark.parametrize("turn", range(2))
    def test_with_an_agent(agent_chain, module_agent_chain, counter, deploy, model, w3, turn):
        assert agent_chain is module_agent_chain
        agent = clerk(deploy, counter)
        model.script(use("CounterTool", amount=5), answer("done"))
        agent_chain.ask(agent, "Add five")
        agent_chain.increase_time(100_000)
        w3.eth.default_account = w3.eth.accounts[3]
        assert counter.functions.number().call() == 5

    def test_at_last(agent_chain, counter, w3):
        assert counter.functions.number().call() == 0
        assert (agent_chain.chain.head.block_number, w3.eth.default_account) == (
            1,
            w3.eth.accounts[0],
        )
        assert len(COUNTERS) == 1

    def test_without_the_modules_chain(agent_chain):
        assert agent_chain.chain.head.block_number == 0
    """
    )
    result.assert_outcomes(passed=7)


def test_a_script_that_is_not_used_up_fails_a_test_on_the_modules_chain(suite: Run) -> None:
    result = suite(
        MODULE
        + """
    from pyevm_agents.testing import answer

    def test_unused(counter, model):
        model.script(answer("done"))

    def test_next(counter, model): ...
    """
    )
    result.assert_outcomes(passed=1, failed=1)


def test_a_test_on_the_modules_chain_has_no_markers_of_its_own(suite: Run) -> None:
    text = """
    def test_of_the_module(counter, agent_chain):
        assert agent_chain.chain.fork.name == "cancun"

    @pytest.mark.agent_schedule("dear.json")
    def test_of_its_own(counter): ...
    """
    result = suite(f'{MODULE}\n    pytestmark = pytest.mark.agent_fork("cancun")\n{text}')
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*the marker agent_schedule of *test_of_its_own has no effect*"])
    result.stdout.no_fnmatch_line("*plugin.py*")


@pytest.mark.parametrize(
    ("scope", "fixture", "hint"),
    [
        ("module", "agent_chain", "In a fixture of module scope, use module_agent_chain: "),
        ("class", "deploy", "In a fixture of class scope, use module_agent_chain.deploy: "),
        ("session", "w3", "In a fixture of session scope, open a chain with `with AgentChain()"),
    ],
)
def test_a_fixture_of_a_wider_scope_is_led_to_a_wider_chain(
    suite: Run, scope: str, fixture: str, hint: str
) -> None:
    result = suite(
        f"""
        import pytest

        @pytest.fixture(scope="{scope}")
        def shop({fixture}): ...

        def test_it(shop): ...
        """
    )
    result.assert_outcomes(errors=1)
    assert hint in result.stdout.str()


def test_a_scope_mismatch_of_other_fixtures_is_left_alone(suite: Run) -> None:
    result = suite(
        """
        import pytest

        @pytest.fixture(scope="module")
        def shop(tmp_path): ...

        def test_it(shop): ...
        """
    )
    result.assert_outcomes(errors=1)
    assert "module_agent_chain" not in result.stdout.str()


def test_an_adversary_without_its_settings_is_led_to_them(suite: Run) -> None:
    result = suite(
        """
        from hypothesis import given
        from pyevm_agents.testing import adversary

        @given(adversary())
        def test_it(agent_chain, adversary): ...
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*needs @adversary_settings() of pyevm_agents.testing*"])


@pytest.mark.slow
def test_a_receipt_that_is_awaited_is_explained(suite: Run) -> None:
    result = suite(
        """
        import pytest

        @pytest.mark.asyncio
        async def test_it(agent_chain, deploy, model):
            agent = clerk(deploy)
            model.script(answer("done"))
            await agent_chain.ask(agent, "Nothing")
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*AgentChain.ask returns the receipt itself*without await*"])


@pytest.mark.parametrize(
    ("arguments", "ini"), [(["--agent-fork=amsterdam"], ""), ([], "amsterdam")]
)
def test_an_unknown_fork_is_one_usage_error(suite: Run, arguments: list[str], ini: str) -> None:
    result = suite(PLAIN, *arguments, ini=f"agent_fork = {ini}" if ini else "")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: --agent-fork amsterdam*: must be cancun or prague or osaka or bpo1 or bpo2"]
    )


FORKS = """
    import pytest

    def test_run(agent_chain):
        assert agent_chain.chain.fork.name == RUN

    @pytest.mark.agent_fork("cancun")
    def test_marker(agent_chain):
        assert agent_chain.chain.fork.name == "cancun"

    @pytest.mark.agent_fork("amsterdam")
    def test_unknown(agent_chain): ...

    @pytest.mark.agent_fork
    def test_nothing(agent_chain): ...
    """


@pytest.mark.parametrize(
    ("arguments", "ini", "fork"),
    [
        ((), "", "prague"),
        ((), "agent_fork = cancun", "cancun"),
        (("--agent-fork=prague",), "agent_fork = cancun", "prague"),
        (("--agent-fork", "cancun"), "", "cancun"),
    ],
)
def test_a_fork_is_chosen(suite: Run, arguments: tuple[str, ...], ini: str, fork: str) -> None:
    result = suite(FORKS.replace("RUN", repr(fork)), *arguments, ini=ini)
    result.assert_outcomes(passed=2, errors=2)
    result.stdout.fnmatch_lines(
        [
            "*fork 'amsterdam': must be one of 'cancun', 'prague'*",
            "*the marker agent_fork of *takes the name of one fork*",
        ]
    )


LIVE_FORKS = """
    import pytest

    def test_run(agent_chain, deploy):
        assert agent_chain.w3.eth.block_number == RUN
        assert deploy("CounterTool").functions.number().call() == 0

    @pytest.mark.agent_fork_block_number(0)
    def test_marker(agent_chain):
        assert agent_chain.w3.eth.block_number == 0

    @pytest.mark.agent_fork_block_number("one")
    def test_not_a_number(agent_chain): ...
    """


@pytest.mark.parametrize(
    ("option", "ini", "number"),
    [
        ("--agent-fork-url=URL", "", 3),
        ("--agent-fork-block-number=2", "agent_fork_url = URL", 2),
        ("--agent-fork-url=URL", "agent_fork_block_number = 1", 1),
    ],
)
def test_a_live_chain_is_forked(suite: Run, option: str, ini: str, number: int) -> None:
    served = build_remote_chain()
    try:
        with fake_remote(served) as remote:
            result = suite(
                LIVE_FORKS.replace("RUN", str(number)),
                option.replace("URL", remote.url),
                ini=ini.replace("URL", remote.url),
            )
    finally:
        served.close()
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*agent_fork_block_number one: must be the number of a block*"])


@pytest.mark.slow
def test_unittest_is_run_by_it(suite: Run) -> None:
    result = suite(
        """
        from pyevm_agents.testing import AgentTestCase

        class CounterTest(AgentTestCase):
            def test_counts(self):
                self.assertEqual(self.deploy("CounterTool").functions.number().call(), 0)
        """
    )
    result.assert_outcomes(passed=1)


@pytest.mark.parametrize("how", ["-p", "pytest_plugins"])
def test_its_package_loads_it_where_no_plugin_loads_itself(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    options = ["-p", "pyevm_agents.pytest_plugin"] if how == "-p" else []
    if how == "pytest_plugins":
        pytester.makeconftest('pytest_plugins = ["pyevm_agents.pytest_plugin"]')
    listed = pytester.runpytest_subprocess("--fixtures", *options)
    listed.stdout.fnmatch_lines(["agent_chain -- *plugin.py*"])
