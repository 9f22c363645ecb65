"""What does the browser do by itself? Components with their scripts and styles."""
