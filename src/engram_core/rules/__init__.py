"""The rules of a memory, by what they are about; `memory` puts them together."""

from engram_core.rules import beginning, belief, content, edges, joining

__all__ = ["beginning", "belief", "content", "edges", "joining"]
