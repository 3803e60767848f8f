"""JSON-RPC methods, a file for each namespace; `registry.py` lists them all."""
