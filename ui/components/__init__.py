"""What runs in the browser? Components with their scripts and styles."""
