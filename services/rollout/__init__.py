"""The rollout worker turns every prompt of an open run into one group, or one typed failure.

It has no HTTP door: prompts come from Redis, groups go back there, its health is a heartbeat there.
It keeps no state that matters. Killed at any moment, it loses nothing: leases of its prompts run
out and another worker takes them; a group that it had pushed is not admitted twice. It waits for
services that are away, Redis included, and never exits because of one. Run any number of them.
"""
