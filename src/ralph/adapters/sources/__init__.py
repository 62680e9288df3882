"""Where work is kept: the tickets of a tracker, the boxes of a Markdown file. One file for each kind of source."""
