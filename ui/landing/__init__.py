"""Flat or curved? The landing page."""
