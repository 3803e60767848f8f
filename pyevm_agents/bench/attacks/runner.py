"""Time each attack of `cases.py` as a transaction.

Each case first runs with a model of empty outputs, which shows the cost of calls up to the output;
calls that are to halt then get exactly the gas of the intended work.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from eth_typing import Address

from precompiles.language_model import Generation, GenerationRequest
from pyevm_agents.bench.attacks.case import BEFORE_END, AttackTarget, build_attacker_code
from pyevm_agents.bench.attacks.cases import make_attack_cases
from pyevm_agents.bench.measurement.intervals import estimate_median, scale_interval
from pyevm_agents.bench.measurement.models import warm_up_model
from pyevm_agents.bench.measurement.profile import build_measured_profile
from pyevm_agents.bench.measurement.results import BLOCK_GAS, Attack
from pyevm_agents.bench.measurement.rounds import spread_rounds, time_with_result
from pyevm_agents.bench.measurement.usage import (
    REFUSALS_BY_SELECTOR,
    Usage,
    count_usage,
    iter_executor_calls,
)
from pyevm_agents.bench.pricing.schedules import add_evm_gas, compute_costs
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS, DEVELOPMENT_BALANCE_WEI
from pyevm_agents.devnet.local_account import LocalAccount

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth.abc import ComputationAPI

    from precompiles.language_model import LanguageModel, Segment
    from pyevm_agents.bench.attacks.case import AttackCase
    from pyevm_agents.bench.measurement.rounds import BenchSettings
    from pyevm_agents.bench.pricing.schedules import NamedSchedule
    from pyevm_agents.devnet.local_account import ExecutedTransaction
    from pyevm_agents.models import LlamaModel

ROOM_GAS = 100_000_000_000
"""Gas limit of the chain: a prompt of the whole context costs more than a block's gas, and at
parity a hundred times as much.
"""

QUICK_ROUNDS, FULL_ROUNDS = 1, 5
MODEL_ROUNDS = 2
"""Rounds of attacks that reach the model, in a full run: each sample takes up to a minute."""

ATTACKER = Address(b"\xa7" * 20)


class FixedGrammarModel:
    """A model with a fixed grammar for every request. Implements `LanguageModel`."""

    def __init__(self, model: LanguageModel, grammar: str) -> None:
        """Wrap a model."""
        self.model = model
        self.grammar = grammar

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt."""
        return self.model.tokenize(segments)

    def generate(self, request: GenerationRequest) -> Generation:
        """Return the model's generation under the fixed grammar."""
        return self.model.generate(replace(request, grammar=self.grammar))


class EmptyOutputModel:
    """A model whose empty outputs use up their token limit. Implements `LanguageModel`."""

    def __init__(self, model: LanguageModel) -> None:
        """Use the tokeniser of a model."""
        self.model = model
        self.prompt_lengths: list[int] = []
        """Length of each prompt, in tokens."""

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt."""
        return self.model.tokenize(segments)

    def generate(self, request: GenerationRequest) -> Generation:
        """Return an incomplete text."""
        self.prompt_lengths.append(len(request.prompt_tokens))
        tokens = request.prompt_tokens[:1] * request.max_tokens
        return Generation(text="", tokens=tokens, forced_tokens=0, is_complete=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratedAttack:
    """A case with the gas of the calls, on a chain that can repeat the case."""

    case: AttackCase
    chain: Chain
    bought: Usage
    """The usage of calls that halt, which leave no record."""

    def send_once(self) -> tuple[float, ExecutedTransaction]:
        """Send the transaction and undo it; return the seconds and the result."""
        before = self.chain.snapshot()
        result = time_with_result(lambda: LocalAccount(self.chain).send(ATTACKER, b""))
        self.chain.revert(before)
        return result


@dataclass(slots=True)
class TimedAttack:
    """A case and the samples."""

    aimed: CalibratedAttack
    seconds: list[float] = field(default_factory=list)
    sent: ExecutedTransaction | None = None
    """The last transaction."""

    def time(self) -> None:
        """Take one more sample."""
        seconds, self.sent = self.aimed.send_once()
        self.seconds.append(seconds)


def measure_attacks(
    setting: BenchSettings, prices: Sequence[NamedSchedule] = ()
) -> tuple[Attack, ...]:
    """Measure every attack, as far as the time budget allows.

    Input:
        prices: schedules under which to compute gas; the chain has the default one.
    """
    facts = setting.model.profile_facts
    profile = build_measured_profile(facts)
    target = AttackTarget(
        model=setting.model,
        profile=profile,
        fingerprint=facts.fingerprint,
        is_quick=setting.is_quick,
    )
    cases = list(make_attack_cases(target))
    counts = [_choose_round_count(case, setting) for case in cases]
    setting.observer.begin_part("Attacks", sum(counts))
    warm_up_model(setting.model)
    timed: list[TimedAttack] = []
    for case in cases:
        if setting.budget.is_spent():
            break
        timed.append(TimedAttack(calibrate_attack(case, setting.model, target)))
    rounds = max(counts)
    for index in range(rounds):
        for place, (attack, count) in enumerate(zip(timed, counts, strict=False)):
            if setting.budget.is_spent():
                break
            # Long cases are not all in the first round: short ones are timed between them.
            if (index - place) % rounds in spread_rounds(count, rounds):
                setting.metronome.beat()
                _clear_model_cache(setting.model, attack.aimed.case)
                attack.time()
                setting.observer.finish_step(
                    f"{attack.aimed.case.name}: {attack.seconds[-1]:.2f} s"
                )
    done = [attack for attack in timed if attack.sent is not None]
    names = {attack.aimed.case.name for attack in done}
    setting.budget.skipped += [
        f"the attack {case.title!r}" for case in cases if case.name not in names
    ]
    return tuple(_build_attack(attack, prices) for attack in done)


def calibrate_attack(
    case: AttackCase, model: LanguageModel, target: AttackTarget
) -> CalibratedAttack:
    """Return a case on a chain with this model, with the gas of calls set."""
    if case.halts_after is None:
        return CalibratedAttack(case=case, chain=_create_chain(case, model, target), bought=Usage())
    output_tokens = case.halts_after
    if output_tokens == BEFORE_END:
        output_tokens = _count_output_tokens(case, model, target) - 1
    case, bought = _assign_gas(case, output_tokens, target)
    return CalibratedAttack(case=case, chain=_create_chain(case, model, target), bought=bought)


def _count_output_tokens(case: AttackCase, model: LanguageModel, target: AttackTarget) -> int:
    """Return the number of output tokens of a case's first call with enough gas.

    The output limit, if the output never ends.
    """
    once = replace(case, calls=case.calls[:1])
    _, sent = CalibratedAttack(
        case=once, chain=_create_chain(once, model, target), bought=Usage()
    ).send_once()
    return count_usage(sent.computation).output_tokens or target.profile.max_output_tokens


def _assign_gas(
    case: AttackCase, output_tokens: int, target: AttackTarget
) -> tuple[AttackCase, Usage]:
    """Measure a case's calls up to their output; set their gas to that plus some tokens' gas."""
    profile, silent = target.profile, EmptyOutputModel(target.model)
    _, sent = CalibratedAttack(
        case=case, chain=_create_chain(case, silent, target), bought=Usage()
    ).send_once()
    computations = list(iter_executor_calls(sent.computation))
    calls, bought = [], count_usage(sent.computation)
    for call, computation, prompt in zip(
        case.calls, computations, silent.prompt_lengths, strict=True
    ):
        gas = computation.get_gas_used()
        gas += (output_tokens - profile.max_output_tokens) * profile.output_token_gas
        if output_tokens:
            bought += Usage(cold_tokens=prompt, output_tokens=output_tokens)
        else:
            gas -= prompt * profile.cold_prompt_token_gas
        calls.append(replace(call, gas=gas))
    return replace(case, calls=tuple(calls)), bought


def _create_chain(case: AttackCase, model: LanguageModel, target: AttackTarget) -> Chain:
    config = ChainConfig(
        models=(target.profile,),
        schedule=target.schedule,
        profile_fingerprint=target.fingerprint,
        block_gas_limit=ROOM_GAS,
    )
    code, stored = build_attacker_code(case.calls)
    accounts = {DEVELOPMENT_ADDRESS: GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)}
    for address, held in {ATTACKER: code, **stored, **case.codes}.items():
        accounts[address] = GenesisAccount(code=held, nonce=1)
    model = FixedGrammarModel(model, case.grammar) if case.grammar else model
    return Chain(config, {target.profile.name: model}, accounts=accounts)


def _build_attack(attack: TimedAttack, prices: Sequence[NamedSchedule]) -> Attack:
    calibration, sent, seconds = attack.aimed, attack.sent, attack.seconds
    if sent is None:
        raise ValueError(f"the attack {calibration.case.name!r} was not timed")
    config = calibration.chain.config
    usage = add_evm_gas(
        count_usage(sent.computation) + calibration.bought,
        sent.receipt.gas_used,
        config.schedule,
        config.models[0],
    )
    gas = compute_costs(usage, prices)
    return Attack(
        name=calibration.case.name,
        title=calibration.case.title,
        how=calibration.case.how,
        outcome=describe_outcome(sent.computation),
        usage=usage,
        seconds=tuple(seconds),
        gas=gas,
        seconds_per_30m_gas=tuple(
            (cost.schedule, scale_interval(estimate_median(seconds), BLOCK_GAS / cost.gas))
            for cost in gas
        ),
    )


def _choose_round_count(case: AttackCase, setting: BenchSettings) -> int:
    """Return the number of samples of a case."""
    if setting.is_quick or case.is_long:
        return QUICK_ROUNDS
    return MODEL_ROUNDS if case.is_reaching_model else FULL_ROUNDS


def _clear_model_cache(model: LlamaModel, case: AttackCase) -> None:
    """Empty the model's memory if the case uses the model: no prompt is known beforehand."""
    if case.is_reaching_model:
        model.forget()


def describe_outcome(computation: ComputationAPI) -> str:
    """Return the outcome of the last executor call."""
    *_, last = iter_executor_calls(computation)
    if last.is_success:
        return "answered"
    if last.error.burns_gas:
        return "out of gas"
    return f"refused: {REFUSALS_BY_SELECTOR[bytes(last.output[:4])]}"
