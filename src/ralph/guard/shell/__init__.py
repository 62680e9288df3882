"""The shell's language: from the text of a command line to the words that a program gets."""
