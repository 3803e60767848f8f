"""JSON-RPC: what each method does, a file for each namespace. No sockets."""
