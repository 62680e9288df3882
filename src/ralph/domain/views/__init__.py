"""What faces show: values made from the record, with the words that people read. No effects, no colours."""
