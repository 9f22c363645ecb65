"""Load tests: many visitors at once over real websocket sessions, without a browser.

Streamlit's protocol is private: all knowledge of it is in this folder.
"""
