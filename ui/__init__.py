"""What a visitor sees: one folder a page, and what pages share."""
