"""What repeated failures of past runs teach, and how it is proposed to the file that agents read."""
