"""Drawing tokens: random numbers keyed by (seed, completion, position), and inverse-CDF sampling.

Keyed numbers make a completion a function of its request: it does not matter which other rows are
in the batch, in which order they came, or how often the generator was restarted.

R rows, V vocabulary.
"""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

_GOLDEN = 0x9E3779B97F4A7C15
_U64 = (1 << 64) - 1


def row_key(seed: int, completion: int) -> int:
    """The random stream of one completion, as 64 bits."""
    return _mix_int(_mix_int((seed + _GOLDEN) & _U64) ^ ((completion + 1) * _GOLDEN & _U64))


def uniforms(keys: list[int], positions: list[int]) -> npt.NDArray[np.float32]:
    """One number in [0, 1) for each row, of its stream's given position (splitmix64, 24 bits)."""
    x = np.array(keys, np.uint64) + np.array(positions, np.uint64) * np.uint64(_GOLDEN)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    numbers: npt.NDArray[np.float32] = (x >> np.uint64(40)).astype(np.float32)
    return numbers * np.float32(2.0**-24)


def draw(
    logits_RV: Tensor, temperature_R: Tensor, top_p_R: Tensor, uniforms_R: Tensor
) -> tuple[Tensor, Tensor]:
    """One token for each row and its log-prob under the distribution that it was drawn from.

    Temperature 0 takes the most likely token and reports its log-prob at temperature 1. With top_p
    below 1 the distribution is renormalised over the smallest set that holds that much.
    """
    greedy_R = temperature_R == 0
    scale_R = torch.where(greedy_R, 1.0, temperature_R)
    logits_RV = logits_RV.float()
    probs_RV = torch.softmax(logits_RV / scale_R[:, None], dim=-1)
    if bool((top_p_R < 1).any()):
        probs_RV = _nucleus(probs_RV, top_p_R)
    if bool(greedy_R.all()):
        ids_R = logits_RV.argmax(-1)
    else:
        ids_R = _inverse_cdf(probs_RV, uniforms_R)
        if bool(greedy_R.any()):
            ids_R = torch.where(greedy_R, logits_RV.argmax(-1), ids_R)
    return ids_R, probs_RV.gather(1, ids_R[:, None]).squeeze(1).log()


def _inverse_cdf(probs_RV: Tensor, uniforms_R: Tensor) -> Tensor:
    cdf_RV = probs_RV.cumsum(-1)
    target_R = uniforms_R * cdf_RV[:, -1]
    ids_R = torch.searchsorted(cdf_RV, target_R[:, None], right=True).squeeze(1)
    ids_R.clamp_(max=probs_RV.shape[1] - 1)
    # Rounding can carry the target to the very end of the line, onto tokens that cannot be drawn.
    impossible_R = probs_RV.gather(1, ids_R[:, None]).squeeze(1) == 0
    if bool(impossible_R.any()):
        ids_R = torch.where(impossible_R, probs_RV.argmax(-1), ids_R)
    return ids_R


def _nucleus(probs_RV: Tensor, top_p_R: Tensor) -> Tensor:
    rows = (top_p_R < 1).nonzero().squeeze(1)
    sorted_KV, order_KV = probs_RV[rows].sort(-1, descending=True)
    before_KV = sorted_KV.cumsum(-1) - sorted_KV
    sorted_KV[before_KV >= top_p_R[rows, None]] = 0.0
    kept_KV = torch.zeros_like(sorted_KV).scatter_(1, order_KV, sorted_KV)
    probs_RV = probs_RV.clone()
    probs_RV[rows] = kept_KV / kept_KV.sum(-1, keepdim=True)
    return probs_RV


def _mix_int(x: int) -> int:
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & _U64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & _U64
    return x ^ (x >> 31)
