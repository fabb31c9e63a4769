"""Derivatives of formulas, bounds of their values, and exact means."""
