"""Learn: ten short lessons, each with a guess before the picture answers."""
