"""A recorded chain, opened and recorded again: chain_fixtures/README.md."""

from pathlib import Path

from pyevm_agents.recordings import open_chain, read_fixture, record_chain, write_fixture

fixture = read_fixture(Path("chain_fixtures/wallet.json"))
chain = open_chain(fixture)  # at its head; a request that is not recorded is an EngineFault
# With `model = LlamaModel()` of the same profile, other requests are computed:
# chain = open_chain(fixture, {fixture.config.models[0].name: model})
write_fixture(record_chain(chain, name="mine", comment="…"), Path("mine.json"))
