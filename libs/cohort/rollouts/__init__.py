"""Rollouts on their way from workers to the learner: the durable queue, packing into batches."""
