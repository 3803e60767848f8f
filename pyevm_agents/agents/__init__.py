"""What agents do in transactions: events while they run, traces afterwards, revert reasons."""
