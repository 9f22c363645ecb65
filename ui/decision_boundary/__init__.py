"""Where does it draw the line? The Decision boundary page."""
