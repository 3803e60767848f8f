"""A test of unittest: docs/testing.md."""

from pyevm_agents.testing import AgentTestCase, answer, use


class ClerkTest(AgentTestCase):
    def test_it(self):
        counter = self.deploy("CounterTool")  # also self.chain, self.w3, self.accounts, self.model
