"""Conformance vectors: how they are made, and what holds them to a plain reading."""
