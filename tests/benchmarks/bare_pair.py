"""The least that anyone would write for two pictures: two native Plotly surfaces in columns."""

import numpy as np
import plotly.graph_objects as go
import streamlit as st

SIZE = 61

u, v = np.meshgrid(np.linspace(-1, 1, SIZE), np.linspace(-1, 1, SIZE))
for column, height, key in zip(st.columns(2), (u * v, u**2 + v**2), ("left", "right"), strict=True):
    column.plotly_chart(go.Figure(go.Surface(z=height)), key=key)
