"""A council that judges answers, and the participants."""
