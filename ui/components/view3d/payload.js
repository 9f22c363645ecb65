// What has Python sent? A header, and arrays of which one frame is taken at a time.

// Layout of the payload: header length (u32), header (JSON), then the arrays.
const KINDS = { 1: Uint8Array, 2: Uint16Array, 4: Float32Array };
function unpack(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const start = bytes.byteOffset + 4 + length;
  const arrays = {};
  for (const [name, { shape, offset, framed, bytes: each }] of Object.entries(header.arrays)) {
    const count = shape.reduce((p, q) => p * q, 1);
    const from = start + offset; // unaligned: slice before viewing as numbers
    const values = new KINDS[each](bytes.buffer.slice(from, from + each * count));
    const inner = framed ? shape.slice(1) : shape;
    arrays[name] = { values, inner, framed, size: inner.reduce((p, q) => p * q, 1) };
  }
  return [header, arrays];
}

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
    const found = fill(v, arrays, frame);
    return [k, k === 'customdata' ? found.map(known) : found];
  }));
}

// A row of numbers that are read off, with nothing where one is not known: Plotly writes "NaN" else.
const known = row => Array.from(row, number => (Number.isNaN(number) ? undefined : number));

// One number of an array at a grid point; a chart's axis has columns along x and rows along y.
function at(array, frame, [row, column], axis) {
  const from = array.framed ? frame * array.size : 0;
  const inside = array.inner.length === 2 ? row * array.inner[1] + column : axis === 'x' ? column : row;
  return array.values[from + inside];
}
