"""Keys of the rows that a chain keeps beside py-evm's own."""

from __future__ import annotations

CONFIG_KEY = b"agents:config"
"""Row of the configuration, as canonical JSON."""

HEAD_STATE_KEY = b"agents:head-state"
"""Row of the head's state root where somebody set accounts after it was mined."""

BEFORE_KEY = b"agents:before:"
"""Row of the state root that a block began with, by its hash, where it is not its parent's."""

NOTE_KEY = b"agents:note:"
"""Row of what is kept about a transaction beside the rules, by its hash."""

SENDER_KEY = b"agents:sender:"
"""Row of the sender of a transaction that has no signature of its own, by its hash."""
