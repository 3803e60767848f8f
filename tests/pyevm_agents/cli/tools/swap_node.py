"""The swap world on a served node whose model follows a script, and the commands of `tools`."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner
from eth_utils import to_checksum_address

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.cli.app import main
from pyevm_agents.config import ChainConfig
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS, DEVELOPMENT_BALANCE_WEI
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.scenarios.swap.world import UNISWAP_FOLDER, SwapWorld
from tests.byte_model import PROFILE, ByteModel
from tests.checkout import ROOT
from tests.pyevm_agents.forking.fake_remote import fake_remote
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES
from tests.pyevm_agents.rpc.served import Served

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from click.testing import Result
    from eth_typing import Address

    from precompiles.language_model import GenerationRequest

SENDER, OTHER = (to_checksum_address(each) for each in ADDRESSES[:2])
FUNCTIONS = (
    "USDT.balanceOf", "getAmountsOut", "swapExactETHForTokens", "swapExactTokensForETH",
)  # fmt: skip


class SwapNode:
    """A node with the swap world."""

    def __init__(self, cache: Path, *, has_executor: bool = True) -> None:
        self.cache = cache
        self.steps: Sequence[tuple[str, dict[str, object]]] = ()
        """Tools with arguments that the model uses in a run, before it answers."""
        self.said = "Done."
        """What it answers."""

        accounts = {each: GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI) for each in ADDRESSES}
        accounts[DEVELOPMENT_ADDRESS] = GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)
        config = ChainConfig(models=(PROFILE,) if has_executor else ())
        self.model = ByteModel(self._generate, is_free=True)
        models = {PROFILE.name: self.model} if has_executor else {}
        self.chain = Chain(config, models, accounts=accounts)
        self.world = SwapWorld(LocalAccount(self.chain), native_symbol="ETH")
        self.served = Served(chain=self.chain)
        self.url = ""

    def _generate(self, request: GenerationRequest) -> str:
        # An estimate runs the agent several times: the prompt tells how far a run is.
        text = "".join(segment.text for segment in request.segments).partition("INSTRUCTION")[2]
        done = text.count("Observation:")
        if done < len(self.steps):
            tool, arguments = self.steps[done]
            return f" Use it.\nAction: {tool}\nAction Input: {json.dumps(arguments)}"
        return f" I now know the final answer\nFinal Answer: {self.said}"

    def place(self, name: str) -> str:
        """Return the address of a contract of the world."""
        return to_checksum_address(self.world.address(name))

    def read(self, name: str, function: str, *arguments: object) -> Any:  # noqa: ANN401
        return self.world.read(name, function, *arguments)

    @property
    def contracts(self) -> list[str]:
        """Options for the router, a token and the switch, with their ABIs."""
        build = ROOT / "contracts/build"
        files = {
            "router": UNISWAP_FOLDER / "UniswapV2Router02.json",
            "USDT": build / "OwnedToken.json",
            "switch": build / "AdminSwitch.json",
        }
        return [
            word
            for name, file in files.items()
            for word in ("--address", self.place(name), "--abi", str(file))
        ]

    def run(
        self,
        *words: object,
        sender: str | None = SENDER,
        status: int = 0,
        typed: str | None = None,
    ) -> Result:
        """Run a command of `tools` as an account of the node; check its exit status.

        Input:  sender: None if the words have the account's options. typed: standard input.
        """
        command = ["tools", *map(str, words), "--rpc-url", self.url]
        if sender is not None:
            command += ["--unlocked", sender]
        environment: dict[str, str | None] = {
            "ETH_KEYSTORE": None,
            "ETH_PASSWORD": None,
            "ETH_RPC_URL": None,
        }
        environment |= {"XDG_CACHE_HOME": str(self.cache)}
        result = CliRunner().invoke(main, command, input=typed, env=environment)
        assert result.exit_code == status, result.output
        return result

    def read_json(self, *words: object, sender: str | None = SENDER, status: int = 0) -> Any:  # noqa: ANN401 - JSON
        return json.loads(self.run(*words, "--json", sender=sender, status=status).stdout)

    def fund(self, account: Address) -> None:
        self.world.fund(account)


@contextmanager
def open_swap_node(cache: Path, *, has_executor: bool = True) -> Iterator[SwapNode]:
    """Serve a swap world. Input: the folder of the commands' caches."""
    node = SwapNode(cache, has_executor=has_executor)
    with fake_remote(node.served) as remote:
        node.url = remote.url
        yield node
    node.served.close()


def choose(functions: Sequence[str] = FUNCTIONS) -> list[str]:
    """Return options that choose functions."""
    return [word for each in functions for word in ("--function", each)]
