"""Engines sample tokens from prompts: `base.py` says what one must do, `local.py` is torch."""
