"""JSON-RPC methods, a file for each namespace or topic of one; `registry.py` lists them all."""
