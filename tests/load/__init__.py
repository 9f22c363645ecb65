"""Does the app hold up when many visitors come at once? Real websocket sessions, no browser.

Streamlit's protocol is private: all that is known of it stands in this folder.
"""
