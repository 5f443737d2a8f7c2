"""Reward: scores completions with typed results; our own trouble is a status, never a 0."""
