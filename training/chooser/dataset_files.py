"""Names of the data's files, for what writes them and what reads them."""

TRAIN, PAIRS, CHOICES = "train.jsonl.gz", "pairs.jsonl.gz", "choices.jsonl.gz"
