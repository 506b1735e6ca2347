"""How the reads of a view are answered from the tables of the read model."""

__all__: list[str] = []
