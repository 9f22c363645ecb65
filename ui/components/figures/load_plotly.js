// plotly.js, loaded once in a tab, and apart from the Plotly of Streamlit's chart component, which is
// `window.Plotly`.
const loadPlotly = url => (window.__gcPlotly ??= new Promise((resolve, reject) => {
  const other = window.Plotly;
  const script = document.createElement('script');
  script.src = url;
  script.onload = () => {
    const own = window.Plotly;
    if (other) window.Plotly = other;
    resolve(own);
  };
  script.onerror = () => {
    window.__gcPlotly = undefined;
    reject(new Error(`cannot load ${url}`));
  };
  document.head.appendChild(script);
}));
