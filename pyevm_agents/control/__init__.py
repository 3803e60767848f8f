"""The control plane: agents in folders, run on a chain for REST and MCP clients.

* agent_loader.py, agent_template.py: folders of agents, and a new one
* identity.py: entries of agents in ERC-8004's identity registry
* plane.py: the operations for clients; rest.py and mcp_tools.py: the interfaces for clients *
app.py: one ASGI application of both, with the access checks of the node's server
"""
