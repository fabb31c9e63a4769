"""Claims of the papers, each measured by one command: scripts/claims."""

# Importing these modules registers their claims.
from . import joma, joma_joint, markov, scb, topic, topic_models, training  # noqa: F401
from .claim import CLAIMS, Check, Claim, Number, verdict

__all__ = ["CLAIMS", "Check", "Claim", "Number", "verdict"]
