"""Comparing answers: which answer a text gives, and whether it equals the truth."""
