"""The setting of a scenario: chain, model, and listeners."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents.scenarios.ideal_runs import create_swappable_chain, follow_script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyevm_agents.chain import Chain
    from pyevm_agents.reports.document import EntryList, ReportTable
    from pyevm_agents.scenarios.ideal_runs import Script


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioSetting:
    """The chain and the model of a scenario, and the listeners of its runs."""

    chain: Chain
    """A new development chain with the model."""

    model: Mapping[str, str]
    """`name` and `digest`."""

    is_scripted: bool = False
    """Whether the scripted ideal runs in place of the model."""

    show_status: Callable[[str], None] = lambda _: None
    """Is told what is being done."""

    show: Callable[[EntryList | ReportTable], None] = lambda _: None
    """Gets each run as it ends, and what is known before."""

    keep: Callable[[Chain], None] = lambda _: None
    """Gets the chain of the runs."""

    read_seconds: Callable[[], float] = lambda: 0.0
    """Returns the seconds since the start."""

    def open_chain(self) -> Chain:
        """Return the chain, whose model can be replaced if the scripted ideal runs."""
        return create_swappable_chain(self.chain) if self.is_scripted else self.chain

    @contextmanager
    def follow_ideal(self, chain: Chain, script: Script) -> Iterator[None]:
        """Replace the model of a swappable chain by a script, if the scripted ideal runs."""
        if not self.is_scripted:
            yield
            return
        with follow_script(chain, script):
            yield
