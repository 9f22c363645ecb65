// Draws the report's figures, in the colours of the reader's scheme.
(() => {
  const { figures, light, dark } = JSON.parse(document.getElementById("figures").textContent);
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  const inDark = new Map(light.map((colour, place) => [colour, dark[place]]));

  const coloured = (value) => {
    if (typeof value === "string") return scheme.matches ? (inDark.get(value) ?? value) : value;
    if (Array.isArray(value)) return value.map(coloured);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, coloured(part)]));
  };

  const draw = () => figures.forEach((figure, place) => {
    const { data, layout } = coloured(figure);
    Plotly.react(`figure-${place}`, data, layout, { responsive: true, displaylogo: false });
  });

  scheme.addEventListener("change", draw);
  draw();
})();
