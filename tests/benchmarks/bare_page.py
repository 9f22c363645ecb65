"""The least that anyone would write: a slider, and one native Plotly surface that follows it."""

import numpy as np
import plotly.graph_objects as go
import streamlit as st

SIZE = 61
STEP = 0.05

strength = st.slider("Strength", 0.0, 1.0, 1.0, STEP, key="lambda")
u, v = np.meshgrid(np.linspace(-1, 1, SIZE), np.linspace(-1, 1, SIZE))
st.plotly_chart(go.Figure(go.Surface(z=u * v + strength * u**2)), key="surface")
