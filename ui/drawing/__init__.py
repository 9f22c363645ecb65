"""Arrays into traces. Nothing here is measured, and nothing knows Streamlit."""
