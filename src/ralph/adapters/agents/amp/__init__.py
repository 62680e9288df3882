"""Everything about Amp."""
