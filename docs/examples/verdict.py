"""The verdict command of a judge: docs/council.md."""

import json
import sys

case = json.load(sys.stdin)
right = [each["agent"] for each in case["answers"] if each["answer"] == "Paris"]
print(json.dumps({"answer": "Paris", "winners": right, "reasoning": "Lyon is another city."}))
