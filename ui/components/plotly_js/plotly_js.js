// Begins to load plotly.js; errors are reported by the pictures that need it.
export default function ({ data }) {
  loadPlotly(JSON.parse(new TextDecoder().decode(data))).catch(() => {});
}
