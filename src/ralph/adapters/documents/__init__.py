"""Files that people and agents write: prompts, tasks, plans and markers, read with care and written whole."""
