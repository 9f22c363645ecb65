"""The page Decision boundary: training, and the boundaries that models learn."""
