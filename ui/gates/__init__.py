"""Which gates curve? A gallery of gates on a flat sheet, the law, and what follows from it."""
