"""JSON-RPC: what each method does, a file for each namespace; and the protocol. No sockets."""
