"""Any contract as a tool: what an account can do with a contract, found by executing it.

Static analysis proposes, execution decides: docs/architecture.md#execution-decides.
"""
