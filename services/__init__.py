"""What runs: generator, rollout, reward, sandbox, trainer; joined by HTTP and Redis."""
