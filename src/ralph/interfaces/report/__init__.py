"""A run as one file to keep or to attach: what was asked, what was done, what was proven, what it cost."""
