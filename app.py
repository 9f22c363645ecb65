"""The entry: the bar above all pages, and the page that is chosen in it.

``streamlit run`` imports this file as ``app``, for the server, and runs it as ``__main__`` for
every visitor, before the page.
"""

import streamlit as st

if __name__ == "__main__":
    from ui.common.bar import bar

    bar().run()
else:
    from ui.classroom.routes import routes
    from ui.work.guard import GUARDED
    from ui.work.server import lifespan

    app = st.App(__file__, lifespan=lifespan, routes=routes(), middleware=GUARDED)
