"""The page Guide: what the other pages draw and measure, and what they do not say."""
