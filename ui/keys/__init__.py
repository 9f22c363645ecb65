"""Four keys decide the sign of K of ungated attention."""
