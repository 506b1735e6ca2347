"""The memory `mem0ai` with its local vector store and no model: a hash in the place of vectors."""

import hashlib

from timing import each, given, median, told  # type: ignore[import-not-found]

_DIMENSION = 64


def _vector(text: str) -> list[float]:
    values = [0.0] * _DIMENSION
    for word in text.split():
        drawn = hashlib.sha256(word.encode()).digest()
        values[drawn[0] % _DIMENSION] += 1.0 if drawn[1] & 1 else -1.0
    return values


def main() -> None:
    from mem0 import Memory  # type: ignore[import-not-found]

    asked, folder = given()
    memory = Memory.from_config(
        {
            "vector_store": {
                "provider": "qdrant",
                "config": {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": _DIMENSION},
            },
            "embedder": {"provider": "openai", "config": {"api_key": "none", "embedding_dims": _DIMENSION}},
            "llm": {"provider": "openai", "config": {"api_key": "none"}},
            "history_db_path": str(folder / "history.db"),
        }
    )
    memory.embedding_model.embed = lambda text, *_, **__: _vector(text)
    texts = asked["texts"][:1_000]
    figures = {"add one": median(lambda text: memory.add(text, user_id="ann", infer=False), texts)}
    found = each(lambda text: memory.search(text, filters={"user_id": "ann"}), asked["questions"])
    figures["search p50"], figures["search p99"] = found[len(found) // 2], found[-1]
    told(figures)


if __name__ == "__main__":
    main()
