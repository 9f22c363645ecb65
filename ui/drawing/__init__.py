"""How do arrays become traces? Nothing here is measured, and nothing knows Streamlit."""
