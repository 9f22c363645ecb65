"""The pages, one folder each, and what they share."""
