"""Language models without weights: scripted, recorded, adversarial and swappable."""
