"""Conformance vectors: histories as data, with what every question about them must be answered.

Each is a JSON file beside this module: what a store was given, commit by commit, how the log then stands, and questions
by somebody at some time with their answers. Another store, or another language, can certify itself by them.
"""

from __future__ import annotations

from engram_core.testing.vectors.files import VECTORS, Vector
from engram_core.testing.vectors.playing import certify_vectors, check_vector
from engram_core.testing.vectors.telling import ASKS, alike, told

__all__ = ["ASKS", "VECTORS", "Vector", "alike", "certify_vectors", "check_vector", "told"]
