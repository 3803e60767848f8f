"""JSON-RPC methods, one file per namespace or topic; `registry.py` lists all."""
