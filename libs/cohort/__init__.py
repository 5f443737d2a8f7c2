"""Cohort: reinforcement learning from verifiable rewards, as four small services.

`from cohort import RewardClient` is all that another project needs; it does not import torch.
"""

from cohort.clients import RewardClient, ServiceError, Unreachable
from cohort.contracts.reward import RewardSpec, ScoreItem, ScoreResult

__all__ = [
    "RewardClient",
    "RewardSpec",
    "ScoreItem",
    "ScoreResult",
    "ServiceError",
    "Unreachable",
    "__version__",
]

__version__ = "0.1.0"
