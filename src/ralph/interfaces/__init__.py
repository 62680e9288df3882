"""Faces: what people and programs see. They ask operations, show what the domain says, and have no rules of their own."""
