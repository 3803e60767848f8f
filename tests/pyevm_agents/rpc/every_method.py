"""All methods that there are, as a node serves them."""

from __future__ import annotations

from pyevm_agents.rpc import eth_events, eth_fees, eth_send, eth_state, evm, net

EVERY_METHOD = {
    name: method
    for module in (eth_state, eth_send, eth_fees, eth_events, net, evm)
    for name, method in module.METHODS.methods.items()
}
