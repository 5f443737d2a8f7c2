"""The generator: samples completions of the current policy, and is the only owner of its tokenizer.

Promise: what it answers was sampled by exactly the version that it names; the same request under
the same version samples the same tokens, whatever else is asked at the time (float noise aside).
"""
