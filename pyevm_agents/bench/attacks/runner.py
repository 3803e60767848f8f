"""What an attacker gets for gas: each case of `attack_cases` as a transaction, timed.

A case is run once with a model that says nothing, to learn what its calls cost up to there; calls
that are to halt are then given exactly the gas of what they are to get.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from eth_typing import Address

from precompiles.language_model import Generation, GenerationRequest
from pyevm_agents.bench.attacks.case import BEFORE_END, Target, attacker_code
from pyevm_agents.bench.attacks.cases import cases
from pyevm_agents.bench.measurement.intervals import interval, scaled
from pyevm_agents.bench.measurement.models import get_ready
from pyevm_agents.bench.measurement.results import BLOCK_GAS, Attack
from pyevm_agents.bench.measurement.rounds import clocked, spread
from pyevm_agents.bench.measurement.usage import (
    REFUSALS_BY_SELECTOR,
    Usage,
    executor_calls,
    tokens_of,
)
from pyevm_agents.bench.pricing.schedules import compute_costs, with_evm_gas
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.devnet.chain import (
    DEVELOPMENT_ADDRESS,
    DEVELOPMENT_BALANCE_WEI,
    Account,
    model_profile,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth.abc import ComputationAPI

    from precompiles.language_model import LanguageModel, Segment
    from pyevm_agents.bench.attacks.case import AttackCase
    from pyevm_agents.bench.measurement.rounds import Setting
    from pyevm_agents.bench.pricing.schedules import Prices
    from pyevm_agents.devnet.chain import Sent
    from pyevm_agents.models import LlamaModel

ROOM_GAS = 100_000_000_000
"""Gas limit of the chain that is attacked: a whole context's prompt costs more than a block has,
and at parity a hundred times as much."""

QUICK_ROUNDS, FULL_ROUNDS = 1, 5
MODEL_ROUNDS = 2
"""Of attacks that reach the model, in a full run: they take up to a minute each."""

ATTACKER = Address(b"\xa7" * 20)


class HeldModel:
    """Holds a model to a grammar, whatever it is asked. Implements `LanguageModel`."""

    def __init__(self, model: LanguageModel, grammar: str) -> None:
        """Ask a model."""
        self.model = model
        self.grammar = grammar

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt."""
        return self.model.tokenize(segments)

    def generate(self, request: GenerationRequest) -> Generation:
        """Return what the model says by the grammar."""
        return self.model.generate(replace(request, grammar=self.grammar))


class SilentModel:
    """Uses up the limit of each generation without a word. Implements `LanguageModel`."""

    def __init__(self, model: LanguageModel) -> None:
        """Take the tokens of a model."""
        self.model = model
        self.prompts: list[int] = []
        """How long each prompt was, in tokens."""

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt."""
        return self.model.tokenize(segments)

    def generate(self, request: GenerationRequest) -> Generation:
        """Return a text that is not complete."""
        self.prompts.append(len(request.prompt_tokens))
        tokens = request.prompt_tokens[:1] * request.max_tokens
        return Generation(text="", tokens=tokens, forced_tokens=0, is_complete=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Aimed:
    """A case with the gas of its calls, on a chain where it can be sent again and again."""

    case: AttackCase
    chain: Chain
    bought: Usage
    """What calls that halt have bought: they leave no record."""

    def sent(self) -> tuple[float, Sent]:
        """Send the transaction and undo it; return its seconds as well."""
        before = self.chain.snapshot()
        result = clocked(lambda: Account(self.chain).send(ATTACKER, b""))
        self.chain.revert(before)
        return result


@dataclass(slots=True)
class Timed:
    """A case, and what was found of it so far."""

    aimed: Aimed
    seconds: list[float] = field(default_factory=list)
    sent: Sent | None = None
    """The last transaction."""

    def time(self) -> None:
        """Send it once more."""
        seconds, self.sent = self.aimed.sent()
        self.seconds.append(seconds)


def attacks(setting: Setting, prices: Sequence[Prices] = ()) -> tuple[Attack, ...]:
    """Measure every attack.

    Input:
        prices: schedules under which its gas is wanted; it runs on a chain of the default one.
    """
    facts = setting.model.profile_facts
    profile = model_profile(facts)
    target = Target(
        model=setting.model,
        profile=profile,
        fingerprint=facts.fingerprint,
        is_quick=setting.is_quick,
    )
    made = list(cases(target))
    counts = [_rounds(case, setting) for case in made]
    setting.observer.part("Attacks", sum(counts))
    get_ready(setting.model)
    timed = [Timed(aimed(case, setting.model, target)) for case in made]
    rounds = max(counts)
    for index in range(rounds):
        for place, (one, count) in enumerate(zip(timed, counts, strict=True)):
            # Long ones are not all in the first round: short ones are timed between them.
            if (index - place) % rounds in spread(count, rounds):
                setting.metronome.beat()
                _make_ready(setting.model, one.aimed.case)
                one.time()
                setting.observer.step(f"{one.aimed.case.name}: {one.seconds[-1]:.2f} s")
    return tuple(_measured(one, prices) for one in timed)


def aimed(case: AttackCase, model: LanguageModel, target: Target) -> Aimed:
    """Return a case on a chain with this model, its calls given the gas that they are to have."""
    if case.halts_after is None:
        return Aimed(case=case, chain=_chain(case, model, target), bought=Usage())
    output_tokens = case.halts_after
    if output_tokens == BEFORE_END:
        output_tokens = _whole_output(case, model, target) - 1
    case, bought = _with_gas(case, output_tokens, target)
    return Aimed(case=case, chain=_chain(case, model, target), bought=bought)


def _whole_output(case: AttackCase, model: LanguageModel, target: Target) -> int:
    """Return how many tokens a model says to a case's first call, where its gas does not end.

    That is the limit, where it never comes to an end.
    """
    once = replace(case, calls=case.calls[:1])
    _, sent = Aimed(case=once, chain=_chain(once, model, target), bought=Usage()).sent()
    return tokens_of(sent.computation).output_tokens or target.profile.max_output_tokens


def _with_gas(case: AttackCase, output_tokens: int, target: Target) -> tuple[AttackCase, Usage]:
    """Find out what a case's calls cost up to their output, and give them that with some tokens."""
    profile, silent = target.profile, SilentModel(target.model)
    _, sent = Aimed(case=case, chain=_chain(case, silent, target), bought=Usage()).sent()
    computations = list(executor_calls(sent.computation))
    calls, bought = [], tokens_of(sent.computation)
    for call, computation, prompt in zip(case.calls, computations, silent.prompts, strict=True):
        gas = computation.get_gas_used()
        gas += (output_tokens - profile.max_output_tokens) * profile.output_token_gas
        if output_tokens:
            bought += Usage(cold_tokens=prompt, output_tokens=output_tokens)
        else:
            gas -= prompt * profile.cold_prompt_token_gas
        calls.append(replace(call, gas=gas))
    return replace(case, calls=tuple(calls)), bought


def _chain(case: AttackCase, model: LanguageModel, target: Target) -> Chain:
    config = ChainConfig(
        models=(target.profile,),
        schedule=target.schedule,
        profile_fingerprint=target.fingerprint,
        block_gas_limit=ROOM_GAS,
    )
    code, stored = attacker_code(case.calls)
    accounts = {DEVELOPMENT_ADDRESS: GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)}
    for address, held in {ATTACKER: code, **stored, **case.codes}.items():
        accounts[address] = GenesisAccount(code=held, nonce=1)
    model = HeldModel(model, case.grammar) if case.grammar else model
    return Chain(config, {target.profile.name: model}, accounts=accounts)


def _measured(one: Timed, prices: Sequence[Prices]) -> Attack:
    it, sent, seconds = one.aimed, one.sent, one.seconds
    if sent is None:
        raise ValueError(f"the attack {it.case.name!r} was not timed")
    config = it.chain.config
    usage = with_evm_gas(
        tokens_of(sent.computation) + it.bought,
        sent.receipt.gas_used,
        config.schedule,
        config.models[0],
    )
    gas = compute_costs(usage, prices)
    return Attack(
        name=it.case.name,
        title=it.case.title,
        how=it.case.how,
        outcome=outcome(sent.computation),
        usage=usage,
        seconds=tuple(seconds),
        gas=gas,
        seconds_per_30m_gas=tuple(
            (cost.schedule, scaled(interval(seconds), BLOCK_GAS / cost.gas)) for cost in gas
        ),
    )


def _rounds(case: AttackCase, setting: Setting) -> int:
    """Return how often a case is timed."""
    if setting.is_quick or case.is_long:
        return QUICK_ROUNDS
    return MODEL_ROUNDS if case.is_reaching_model else FULL_ROUNDS


def _make_ready(model: LlamaModel, case: AttackCase) -> None:
    """Empty the model's memory where it is used, so that nothing is known beforehand."""
    if case.is_reaching_model:
        model.forget()


def outcome(computation: ComputationAPI) -> str:
    """Return how the last call of the executor ended."""
    *_, last = executor_calls(computation)
    if last.is_success:
        return "answered"
    if last.error.burns_gas:
        return "out of gas"
    return f"refused: {REFUSALS_BY_SELECTOR[bytes(last.output[:4])]}"
