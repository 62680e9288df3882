"""A plan of stories (tasks.json): its document, the modes of its iterations, and what a session may change in it."""
