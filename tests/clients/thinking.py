"""A node whose model generates until it is released, and counts its requests."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS
from pyevm_agents.errors import EngineFault
from pyevm_agents.model_registry.profiles import build_model_profile
from pyevm_agents.models import CachingModel, ScriptedModel, SwappableModel, answer, use
from pyevm_agents.node import DEFAULT_MNEMONIC, Keys, Node
from pyevm_agents.node.keys import derive_keys
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.scenarios.wallet import WalletDemo
from tests.deadlines import HANG_SECONDS
from tests.serving import serve_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from precompiles.language_model import Generation, GenerationRequest, Segment
    from pyevm_agents.models import ProfileFacts, Vocabulary

STEPS = (
    use("TokenInfoTool", asset="USDC"),
    use("ViewBalanceTool", asset="USDC"),
    use("DeployTool", asset="USDC", amount=10),
    answer("Done."),
)


@dataclass
class Thinking:
    """A model that generates the steps above as soon as `go_on` is set."""

    model: ScriptedModel
    go_on: threading.Event = field(default_factory=threading.Event)

    is_ill: bool = False
    """Whether it fails where it would answer."""

    asked: list[GenerationRequest] = field(default_factory=list)

    @property
    def profile_facts(self) -> ProfileFacts:
        return self.model.profile_facts

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        return self.model.tokenize(segments)

    def generate(self, request: GenerationRequest) -> Generation:
        self.asked.append(request)
        assert self.go_on.wait(HANG_SECONDS), "nobody told the model to go on"
        if self.is_ill:
            raise EngineFault("the model's process was ended by SIGKILL")
        return self.model.generate(request)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingNode:
    """The node of such a model, and the demo's wallet on it."""

    url: str
    model: Thinking
    wallet: WalletDemo
    chain: Chain

    @property
    def agent(self) -> str:
        return "0x" + self.wallet.agent.hex()

    def go_on_after(self, line: str) -> Callable[[str], None]:
        """Return what lets the model go on when it is called with a line of a script's output."""

        def hear(printed: str) -> None:
            if printed == line:
                self.model.go_on.set()

        return hear


@contextmanager
def thinking_node(vocabulary: Vocabulary) -> Iterator[ThinkingNode]:
    """Run a node in this process, as `pyevm-agents node` makes it."""
    model = Thinking(ScriptedModel(STEPS, vocabulary=vocabulary))
    facts = vocabulary.profile_facts
    profile = build_model_profile(facts)
    remembering = CachingModel(model, digest=facts.digest, fingerprint=facts.fingerprint)
    keys = Keys(derive_keys(DEFAULT_MNEMONIC, 2))
    chain = Chain(
        ChainConfig(models=(profile,), profile_fingerprint=facts.fingerprint),
        {profile.name: SwappableModel(remembering)},
        accounts={one: GenesisAccount(balance_wei=10**22) for one in keys.addresses},
    )
    assert keys.addresses[0] == DEVELOPMENT_ADDRESS
    wallet = WalletDemo(chain)
    node = Node(chain, now=time.time, keys=keys, rehearses=True)
    with serve_in_thread(build_node_service(node)) as url:
        yield ThinkingNode(url=url, model=model, wallet=wallet, chain=chain)
    node.close()
