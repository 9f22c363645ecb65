// Begins to load plotly.js; a picture that needs it says why it did not come.
export default function ({ data }) {
  loadPlotly(JSON.parse(new TextDecoder().decode(data))).catch(() => {});
}
