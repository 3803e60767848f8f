"""The decoding rules of a model's profile: named integers, part of genesis.

| rule | value | default |
|---|---|---|
| `short_format` | 2: steps have the short format (`short_format/`) | 0: the free format |
| `max_surprisal` | upper bound of an action's surprisal, in 65,536ths of a nat | 0: no bound |
| `stated_values` | 1: arguments are values that descriptions state (`stated_values.py`) | 0 |
| `doubted_probability` | least probability of an order where the rules are in doubt | 0: no judge |
| `choice_probability` | least probability that one way is meant, not another | 0: no judge |
| `sure_probability` | least probability of an order where they are sure | 0: they alone decide |
| `request_probability` | least probability that a request which acts is one | 0: not read |

Probabilities are in 65,536ths (`short_format/judge.py`). The first two belong together, and need
`short_format` and a profile with a chooser; the others need them.

Source: docs/architecture.md#short-format, #order-judge, #gate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from precompiles.short_format.judge import PROBABILITY_ONE, Thresholds

if TYPE_CHECKING:
    from collections.abc import Sequence

SHORT_FORMAT = 2
"""The version of the short format, whose rules are consensus.

Version 1 chose among clauses and values.
"""

MAX_SURPRISAL = 1 << 32
"""65,536 nats: more than any generation has."""

JUDGE = ("doubted_probability", "choice_probability")
"""The rules of a judge, both or none."""

SURE, REQUEST = "sure_probability", "request_probability"
ALL_JUDGE = (*JUDGE, SURE, REQUEST)
"""The rules that a judge may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodingRules:
    """The rules of a profile by name."""

    short_format: bool = False
    max_surprisal: int = 0
    stated_values: bool = False
    thresholds: Thresholds | None = None
    """Of the judge; None for no judge."""

    @classmethod
    def parse(cls, rules: Sequence[tuple[str, int]]) -> DecodingRules:
        """Return the rules of a profile.

        Raises: ValueError: an unknown rule, or a value out of range.
        """
        values = dict(rules)
        limits = {
            "short_format": SHORT_FORMAT,
            "max_surprisal": MAX_SURPRISAL,
            "stated_values": 1,
            **dict.fromkeys(ALL_JUDGE, PROBABILITY_ONE - 1),
        }
        for name, value in rules:
            if name == "router_weight":
                raise ValueError(
                    "decoding rule router_weight: there is no router any more. Remove it from the "
                    "adapter's file with `python -m training.set_rules OLD NEW --rule "
                    "router_weight=0`, and create the chain anew"
                )
            if name not in limits:
                raise ValueError(
                    f"unknown decoding rule {name!r}: must be one of {', '.join(limits)}"
                )
            if name == "short_format" and value != SHORT_FORMAT:
                raise ValueError(
                    f"decoding rule short_format {value}: must be {SHORT_FORMAT}, which has other "
                    "rules. Set it in the model's or adapter's file with `python -m "
                    f"training.set_rules OLD NEW --rule short_format={SHORT_FORMAT}`, and create "
                    "the chain anew"
                )
            if not 0 < value <= limits[name]:
                raise ValueError(
                    f"decoding rule {name} {value}: must be 1 to {limits[name]}; leave it out for 0"
                )
        judged = [name for name in ALL_JUDGE if name in values]
        missing = [name for name in (*JUDGE, "short_format") if name not in values]
        if judged and missing:
            raise ValueError(f"decoding rule {judged[0]}: needs {', '.join(missing)}")
        return cls(
            short_format=bool(values.get("short_format")),
            max_surprisal=values.get("max_surprisal", 0),
            stated_values=bool(values.get("stated_values")),
            thresholds=Thresholds(
                doubted=values["doubted_probability"],
                choice=values["choice_probability"],
                sure=values.get(SURE, 0),
                request=values.get(REQUEST, 0),
            )
            if judged
            else None,
        )
