"""Our reward service inside other trainers: one file each, importing nothing of the trainer.

`trl` and `verl` take reward functions, which are here. OpenRLHF, slime and the rest take a URL: the
service speaks their protocols itself.
"""
