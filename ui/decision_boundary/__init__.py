"""Which decision boundary does it learn? The Decision boundary page."""
