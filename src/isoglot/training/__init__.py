"""Training that changes the encoder itself: objectives, one a file. Torch is imported when one of them runs."""

from __future__ import annotations

from isoglot.training.sinkhorn import sinkhorn_divergence, transport_plan

__all__ = ["sinkhorn_divergence", "transport_plan"]
