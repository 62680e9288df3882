"""Everything about Qwen Code."""
