"""What does every page have? Title, links, controls, words."""
