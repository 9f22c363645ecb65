"""The least that anyone would write: a slider, and two Plotly surfaces, one of which follows it."""

import numpy as np
import plotly.graph_objects as go
import streamlit as st

SIZE = 61

strength = st.slider("Strength", 0.0, 1.0, 1.0, 0.05, key="lambda")
u, v = np.meshgrid(np.linspace(-1, 1, SIZE), np.linspace(-1, 1, SIZE))
heights = {"gated": u * v + strength * u**2, "plain": u * v}
for column, (name, height) in zip(st.columns(2), heights.items(), strict=True):
    column.plotly_chart(go.Figure(go.Surface(z=height)), key=name)
