"""JSON-RPC without sockets: the envelope, and a file for each namespace."""
