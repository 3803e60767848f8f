"""Programs that talk to a node: JSON-RPC, accounts, contracts, transactions and their stores."""
