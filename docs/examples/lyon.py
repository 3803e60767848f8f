"""The answer command of an info agent: docs/council.md."""

import json
import sys

question = json.load(sys.stdin)["query"]
print("Lyon" if "France" in question else "I do not know")
