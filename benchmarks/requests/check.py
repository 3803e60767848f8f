"""Check worlds: they deploy, each agent can be made, and each expected call changes something.

python -m benchmarks.requests.check WORLD [--part closed]
"""

from __future__ import annotations

import argparse
from collections import Counter

from eth_utils import to_checksum_address

from benchmarks.contract_adapters import open_chain
from benchmarks.requests.world import PARTS, World, read_requests


def main() -> None:
    """Print each request with what is right, and what is wrong with the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("worlds", nargs="+")
    parser.add_argument("--part", choices=PARTS, default="open", help="which requests")
    parser.add_argument("--prompts", action="store_true", help="print the agents' base prompts")
    options = parser.parse_args()
    for name in options.worlds:
        world = World(name, open_chain())
        for agent in world.agents.values():
            print(f"{name}.{agent.name} acts as {to_checksum_address(agent.account)}")
            if options.prompts:
                print(agent.base_prompt, "\n")
        requests = read_requests(name, options.part)
        before = world.snapshot()
        flawed = 0
        for request in requests:
            if request.agent not in world.agents:
                print(f"UNKNOWN AGENT {request.agent}: {request.text}")
                flawed += 1
            if not request.calls:
                continue
            calls = [world.read_call(text, request.agent) for text in request.calls]
            state, computations = world.run(calls)
            after = world.snapshot(state)
            failed = [
                text for text, one in zip(request.calls, computations, strict=True) if one.is_error
            ]
            if failed or after == before:
                flawed += 1
                print(f"{'REVERTS' if failed else 'CHANGES NOTHING'}: {request.text} {failed}")
        counts = Counter(one.agent for one in requests)
        doable = sum(one.is_doable for one in requests)
        print(f"{name}: {len(requests)} requests, {doable} doable, {flawed} flawed; {dict(counts)}")
        print("  reasons:", dict(Counter(one.reason for one in requests if not one.is_doable)))


if __name__ == "__main__":
    main()
