"""What runs: generator, rollout, reward, sandbox, trainer. One process each, joined by HTTP and Redis."""
