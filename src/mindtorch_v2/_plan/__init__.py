"""What training a model on many cards takes, measured without them: ``mindtorch plan``."""
