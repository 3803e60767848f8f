"""Measure typical runs of agents as real transactions: the time and its parts.

Actions are dictated, for results that do not depend on the weights; thoughts are the model's own.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eth_abi import encode

from precompiles.abi import ParamType
from precompiles.spec import EXECUTOR_ADDRESS, MAX_TEXT_CHARACTERS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.bench.measurement.budget import RUN_SHARE
from pyevm_agents.bench.measurement.intervals import estimate_median
from pyevm_agents.bench.measurement.models import (
    DictatedModel,
    OwnAnswer,
    StopwatchModel,
    build_dictated_grammar,
    warm_up_model,
)
from pyevm_agents.bench.measurement.profile import build_measured_profile
from pyevm_agents.bench.measurement.results import Run
from pyevm_agents.bench.measurement.rounds import time_with_result
from pyevm_agents.bench.measurement.usage import count_usage
from pyevm_agents.bench.pricing.schedules import add_evm_gas, compute_costs
from pyevm_agents.devnet.chain import create_funded_chain
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.errors import ConfigError
from pyevm_agents.model_registry.profiles import ALIASES
from pyevm_agents.models import use
from pyevm_agents.models.fakes.parsed_request import parse_grammar, parse_prompt
from pyevm_agents.scenarios.wallet import WalletDemo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth_typing import Address

    from precompiles.language_model import GenerationRequest
    from pyevm_agents.bench.measurement.models import Dictation
    from pyevm_agents.bench.measurement.rounds import BenchSettings
    from pyevm_agents.bench.measurement.usage import Usage
    from pyevm_agents.bench.pricing.schedules import NamedSchedule
    from pyevm_agents.chain import Chain
    from pyevm_agents.devnet.local_account import ExecutedTransaction
    from pyevm_agents.models import LlamaModel

QUICK_ROUNDS, FULL_ROUNDS = 1, 5
"""A round takes some twelve seconds with the default model, whose memory is emptied for each."""

ANSWER_CHARACTERS = 60
"""Characters of an answer whose length is not measured: a sentence."""

LONG_ANSWER_TOKENS = 200

THOUGHT_TOKENS = 60
"""Tokens of a thought that are read before its end is searched."""

ANSWER_LINE = "\nFinal Answer: "

MAX_ITERATIONS = 5

WALLET_STEPS: tuple[Dictation, ...] = (
    use("DeployTool", asset="USDC", amount=10),
    use("WithdrawTool", asset="DAI", amount=20),
    use("ViewBalanceTool", asset="USDC"),
    OwnAnswer(characters=ANSWER_CHARACTERS),
)
WALLET_INSTRUCTION = "Deposit 10 USDC, withdraw 20 DAI and show the balance of USDC"
NESTED_INSTRUCTION = "Please add 7"
LONG_QUESTION = "What is an agent on a blockchain, what can it do, and what should it never do?"

NESTED = (
    ("Counting Agent", "You count. Use CounterTool to add a number to the counter."),
    ("Asking Agent", "You ask other agents. Ask Counting Agent to add a number to the counter."),
    ("Leading Agent", "You lead other agents. Tell Asking Agent what is to be done."),
)
"""Names and base prompts, the innermost agent first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCase:
    """A transaction that can be sent repeatedly."""

    title: str
    to: Address
    data: bytes


def measure_runs(setting: BenchSettings, prices: Sequence[NamedSchedule] = ()) -> tuple[Run, ...]:
    """Measure a wallet's run, three nested agents, and one long answer.

    Input:
        prices: schedules to compute costs under; the chain has the default one.

    Output: runs without their predicted seconds; those that were not skipped for want of time.
    """
    rounds = QUICK_ROUNDS if setting.is_quick else FULL_ROUNDS
    bench = RunBench(setting)
    warm_up_model(setting.model)
    setting.observer.begin_part("Runs", rounds * len(bench.cases))
    sampled: dict[str, None] = {}
    for _ in range(rounds):
        for name in bench.cases:
            if sampled and setting.budget.is_spent(RUN_SHARE):
                break
            setting.metronome.beat()
            setting.observer.finish_step(f"{name}: {bench.sample(name):.1f} s")
            sampled[name] = None
    setting.budget.skipped += [f"the run {name}" for name in bench.cases if name not in sampled]
    return tuple(bench.build_run(name, prices) for name in sampled)


@dataclass(slots=True)
class RunSamples:
    """Seconds of one case, by part."""

    whole: list[float]
    evm: list[float]
    prompt: list[float]
    output: list[float]
    usage: Usage | None = None


class RunBench:
    """A development chain with the agents of every case."""

    def __init__(self, setting: BenchSettings) -> None:
        """Deploy the agents."""
        facts = setting.model.profile_facts
        self.profile = build_measured_profile(facts)
        self.model = StopwatchModel(DictatedModel(setting.model, self._dictate))
        self.chain = create_funded_chain(self.model, facts, self.profile)
        self._long_characters: int | None = None
        self.cases = {
            "wallet": _make_wallet_case(self.chain),
            "nested": _make_nested_case(self.chain),
            "long-answer": _make_long_answer_case(self.chain),
        }
        self._samples: dict[str, RunSamples] = defaultdict(lambda: RunSamples([], [], [], []))
        self._name = ""

    def sample(self, name: str) -> float:
        """Send a case's transaction with an empty model memory, and again with remembered output.

        Output: seconds of the first.

        Raises: ConfigError: the run failed.
        """
        self._name = name
        self.model.reset()
        self.model.is_replaying = False
        seconds, sent = self._send(self.cases[name])
        seconds -= self.model.idle_seconds
        self.model.is_replaying = True
        evm_seconds, _ = self._send(self.cases[name])
        samples = self._samples[name]
        samples.whole.append(seconds)
        samples.evm.append(evm_seconds)
        samples.prompt.append(self.model.prompt_seconds)
        samples.output.append(self.model.output_seconds)
        samples.usage = add_evm_gas(
            count_usage(sent.computation),
            sent.receipt.gas_used,
            self.chain.config.schedule,
            self.profile,
        )
        return seconds

    def build_run(self, name: str, prices: Sequence[NamedSchedule]) -> Run:
        """Return the measurements of a case.

        Raises: ValueError: no measurements.
        """
        samples = self._samples[name]
        if samples.usage is None:
            raise ValueError(f"the run {name!r} was not measured: take a sample first")
        return Run(
            name=name,
            title=self.cases[name].title.format(tokens=samples.usage.output_tokens),
            usage=samples.usage,
            seconds=tuple(samples.whole),
            evm_seconds=estimate_median(samples.evm),
            prompt_seconds=estimate_median(samples.prompt),
            output_seconds=estimate_median(samples.output),
            predicted_seconds=None,
            costs=compute_costs(samples.usage, prices),
        )

    def _send(self, case: RunCase) -> tuple[float, ExecutedTransaction]:
        """Send and undo a transaction."""
        before = self.chain.snapshot()
        seconds, sent = time_with_result(lambda: LocalAccount(self.chain).send(case.to, case.data))
        self.chain.revert(before)
        if not sent.is_success:
            raise ConfigError(
                f"the run {self._name!r} failed: {sent.computation.error!r}; its model can't be "
                "measured so: use one whose thoughts end within its output limit"
            )
        return seconds, sent

    def _dictate(self, request: GenerationRequest) -> Dictation:
        if self._name == "wallet":
            return WALLET_STEPS[parse_prompt(request).step - 1]
        if self._name == "long-answer":
            return OwnAnswer(characters=self._get_answer_characters(request))
        if parse_prompt(request).step > 1:
            return OwnAnswer(characters=ANSWER_CHARACTERS)
        (tool,) = parse_grammar(request.grammar).tools
        (parameter,) = tool.parameters
        is_number = parameter.param_type is ParamType.UINT
        return use(tool.name, arguments={parameter.name: 7 if is_number else NESTED_INSTRUCTION})

    def _get_answer_characters(self, request: GenerationRequest) -> int:
        """Return the length at which the long answer has the wanted number of tokens."""
        if self._long_characters is None:
            model = self.model.model.model
            self._long_characters = find_answer_characters(model, request)
            model.forget()
        return self._long_characters


def find_answer_characters(model: LlamaModel, request: GenerationRequest) -> int:
    """Return the length at which a model's own answer has `LONG_ANSWER_TOKENS` tokens, or nearly.

    The words of an answer do not depend on the limit, except for the last one: an answer cut after
    that many tokens shows the length.
    """
    longest = build_dictated_grammar(OwnAnswer(characters=MAX_TEXT_CHARACTERS), request)
    request = replace(request, grammar=longest, max_tokens=THOUGHT_TOKENS)
    generation = model.generate(request)
    while ANSWER_LINE not in generation.text:
        request = replace(request, max_tokens=request.max_tokens + THOUGHT_TOKENS)
        generation = model.resume(request, generation)
    before = next(
        count
        for count in range(len(generation.tokens), 0, -1)
        if ANSWER_LINE not in model.detokenize(generation.tokens[:count])
    )
    wanted_tokens = before + LONG_ANSWER_TOKENS
    if len(generation.tokens) < wanted_tokens and not generation.is_complete:
        generation = model.resume(replace(request, max_tokens=wanted_tokens), generation)
    words = model.detokenize(generation.tokens[:wanted_tokens]).partition(ANSWER_LINE)[2]
    return max(1, min(len(words), MAX_TEXT_CHARACTERS))


def _make_wallet_case(chain: Chain) -> RunCase:
    wallet = WalletDemo(chain)
    return RunCase(
        title="A wallet's run of four steps",
        to=wallet.agent,
        data=load_artifact("WalletAgent").encode_call("instruct", WALLET_INSTRUCTION),
    )


def _make_nested_case(chain: Chain) -> RunCase:
    owner = LocalAccount(chain)
    tool = owner.deploy(load_artifact("CounterTool").encode_creation())
    for name, base_prompt in NESTED:
        tool = _deploy_agent(owner, name, base_prompt, [tool])
    return RunCase(
        title="Three agents, each the tool of the next",
        to=tool,
        data=_encode_run_call(NESTED_INSTRUCTION),
    )


def _make_long_answer_case(chain: Chain) -> RunCase:
    agent = _deploy_agent(
        LocalAccount(chain), "Answering Agent", "You answer questions in full.", []
    )
    return RunCase(
        title="One long answer: {tokens} tokens with its thought",
        to=agent,
        data=_encode_run_call(LONG_QUESTION),
    )


def _deploy_agent(
    owner: LocalAccount, name: str, base_prompt: str, tools: list[Address]
) -> Address:
    texts = (name, f"Is {name}", "what to do", base_prompt)
    creation = load_artifact("SimpleAgent").encode_creation(
        EXECUTOR_ADDRESS, ALIASES[0], *texts, tools, MAX_ITERATIONS
    )
    return owner.deploy(creation)


def _encode_run_call(instruction: str) -> bytes:
    prompt = encode(["string"], [instruction])
    data = ([(ParamType.STRING, prompt)], prompt)
    return load_artifact("SimpleAgent").encode_call("run", data, bytes(20))
