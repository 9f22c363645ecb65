// One frame of the arrays (see arrays.js) as Plotly takes it, and as readouts do.

// One frame of an array, as Plotly takes it: a vector, or a list of rows.
function take(array, frame) {
  const from = array.framed ? frame * array.size : 0;
  if (array.inner.length < 2) return array.values.subarray(from, from + array.size);
  const [rows, columns] = array.inner;
  return Array.from({ length: rows }, (_, r) =>
    array.values.subarray(from + r * columns, from + (r + 1) * columns));
}

// A trace with every {array: name} replaced by that array's data.
function fill(spec, arrays, frame) {
  if (Array.isArray(spec)) return spec.map(part => fill(part, arrays, frame));
  if (spec === null || typeof spec !== 'object') return spec;
  if (typeof spec.array === 'string') {
    const array = arrays[spec.array];
    return take(spec.flat ? { ...array, inner: [array.size] } : array, frame);
  }
  return Object.fromEntries(Object.entries(spec).map(([k, v]) => {
    const value = fill(v, arrays, frame);
    return [k, k === 'customdata' ? value.map(known) : value];
  }));
}

// A row of numbers with `undefined` for unknown ones, which Plotly would write as "NaN".
const known = row => Array.from(row, number => (Number.isNaN(number) ? undefined : number));

// One number of an array at a grid point; a chart's axis has columns along x and rows along y.
function at(array, frame, [row, column], axis) {
  const from = array.framed ? frame * array.size : 0;
  const inside = array.inner.length === 2 ? row * array.inner[1] + column : axis === 'x' ? column : row;
  return array.values[from + inside];
}
