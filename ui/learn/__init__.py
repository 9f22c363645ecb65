"""Learn: nine short lessons, each with a guess before the picture answers."""
