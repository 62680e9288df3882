"""Rules about text: reading what people wrote, hiding secrets, and making text short and safe to show."""
