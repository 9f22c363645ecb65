"""Components that run in the browser, with their scripts and styles."""
