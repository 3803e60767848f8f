"""A numeric model for tests of the rules: a few sums of integers, and a chain that has it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eth_abi import encode
from eth_typing import Address

from precompiles.numeric_gas import DEFAULT_NUMERIC_SCHEDULE, NumericGasSchedule
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import DEFAULT_FORK, ChainConfig
from pyevm_agents.model_registry.profiles import build_numeric_profiles
from tests.byte_model import PROFILE, ByteModel
from tests.chain_bench import OWNER, STRANGER, Bench

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from precompiles.numeric_model import NumericModel, NumericModelProfile

MODELS = Address(bytes(19) + b"\x1a")
RUN_MODEL = bytes.fromhex("439ccf80")
DESCRIBE_MODEL = bytes.fromhex("f391a869")


@dataclass(frozen=True, kw_only=True)
class SumModel:
    """Returns the sum of its inputs, and their difference from the first one.

    Its file is its own fields, as JSON.
    """

    input_decimals: tuple[int, ...] = (2, 2, 0)
    output_decimals: tuple[int, ...] = (2, 4)
    input_ranges: tuple[tuple[int, int], ...] = ((-100, 100), (0, 7), (-(2**63), 2**63 - 1))
    operations: int = 41
    salt: int = 0
    runs: list[tuple[int, ...]] = field(default_factory=list)
    """The inputs of each evaluation so far."""

    @property
    def data(self) -> bytes:
        """The file."""
        form = {name: value for name, value in vars(self).items() if name != "runs"}
        return json.dumps(form).encode()

    @property
    def digest(self) -> bytes:
        """SHA-256 of the file."""
        return hashlib.sha256(self.data).digest()

    def run(self, values: Sequence[int]) -> tuple[int, ...]:
        """Return the outputs."""
        self.runs.append(tuple(values))
        outputs = (sum(values), *(2 * value - sum(values) for value in values))
        return (outputs * len(self.output_decimals))[: len(self.output_decimals)]


def open_sum_model(data: bytes) -> SumModel:
    """Return the model of a file."""
    form = json.loads(data)
    return SumModel(
        input_decimals=tuple(form["input_decimals"]),
        output_decimals=tuple(form["output_decimals"]),
        input_ranges=tuple((least, most) for least, most in form["input_ranges"]),
        operations=form["operations"],
        salt=form["salt"],
    )


def profile_of(model: NumericModel, name: str = "sum") -> NumericModelProfile:
    """Return a model's profile."""
    (profile,) = build_numeric_profiles({name: model})
    return profile


def run_call(values: Sequence[int], model_id: str = "sum") -> bytes:
    """Return calldata of `runModel`."""
    return RUN_MODEL + encode(["string", "int256[]"], [model_id, values])


def describe_call(model_id: str = "sum") -> bytes:
    """Return calldata of `describeModel`."""
    return DESCRIBE_MODEL + encode(["string"], [model_id])


def make_numeric_bench(
    models: Mapping[str, NumericModel] | None = None,
    *,
    script: Iterable[str] | Callable[..., str] | None = None,
    schedule: NumericGasSchedule = DEFAULT_NUMERIC_SCHEDULE,
    codes: Mapping[Address, bytes] | None = None,
    fork: str = DEFAULT_FORK,
) -> Bench:
    """Return a chain with numeric models; with a language model if there is a script."""
    models = {"sum": SumModel()} if models is None else models
    language_model = ByteModel([] if script is None else script)
    profiles = () if script is None else (PROFILE,)
    config = ChainConfig(
        models=profiles,
        numeric_models=build_numeric_profiles(models),
        numeric_schedule=schedule,
        fork=fork,
    )
    rich = GenesisAccount(balance_wei=10**30)
    accounts = {OWNER: rich, STRANGER: rich}
    for address, code in (codes or {}).items():
        accounts[address] = GenesisAccount(code=code, nonce=1)
    chain = Chain(
        config,
        {profile.name: language_model for profile in profiles},
        numeric_models=models,
        accounts=accounts,
    )
    return Bench(chain, language_model)
