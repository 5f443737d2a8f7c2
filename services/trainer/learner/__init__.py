"""The learner: fills a step with groups, trains on it, commits, publishes. One per run, torch.

Rank 0 owns the loop and everything that talks to Redis or writes the run folder; the other ranks
only follow it through collectives (`team.py`). Started by the trainer API, never by hand.
"""
