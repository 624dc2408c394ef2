"""Timing: profiles of engines, and the pace that they give to one generation."""
