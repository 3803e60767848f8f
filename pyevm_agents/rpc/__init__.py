"""JSON-RPC: the protocol, without sockets; the methods are in `methods/`."""
