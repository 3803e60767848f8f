"""A sentence encoder in integers that scores moods and calls: `precompiles.chooser`."""
