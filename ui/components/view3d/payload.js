// What has Python sent? A header, and arrays of which one frame is taken at a time.

// The header comes with every run of the page; the arrays, megabytes, once from an address of their
// own. For a moment that may be gone, while a run of the page is between dropping and renewing it.
// A run that grows may send more than a line carries: while one film comes others wait, and only the
// newest of them is asked for.
const KEPT_LOADS = 4; // for the pictures of a page, and those just before
const TRIES = 6;
const PAUSE = 200; // milliseconds before the second try; each pause is twice the one before
const loads = new Map(); // by address, oldest first: promises

async function newest(state, address) {
  state.wanted = address;
  const isWanted = () => state.wanted === address;
  while (state.coming && state.coming !== address) {
    await state.arrival;
    if (!isWanted()) return null;
  }
  const arrival = load(address, isWanted);
  state.coming = address;
  state.arrival = arrival.catch(() => {}).then(() => { if (state.coming === address) state.coming = null; });
  return arrival;
}

function load(address, isWanted) {
  const found = loads.get(address) ?? bring(address, isWanted);
  loads.delete(address);
  loads.set(address, found);
  found.catch(() => loads.delete(address));
  while (loads.size > KEPT_LOADS) loads.delete(loads.keys().next().value);
  return found;
}

async function bring(address, isWanted) {
  for (let pause = PAUSE, tries = 1; ; pause *= 2, tries++) {
    try {
      const answer = await fetch(address);
      if (answer.ok) return await answer.arrayBuffer();
    } catch {} // no network, or not to the end
    if (tries === TRIES || !isWanted()) throw new Error('its numbers did not come');
    await new Promise(resolve => { setTimeout(resolve, pause); });
  }
}

const headerIn = bytes => JSON.parse(new TextDecoder().decode(bytes));

const KINDS = { 1: Uint8Array, 2: Uint16Array, 4: Float32Array };
function unpack(entries, buffer) {
  return Object.fromEntries(Object.entries(entries).map(([name, { shape, offset, framed, bytes }]) => {
    const count = shape.reduce((p, q) => p * q, 1);
    // Unaligned: slice before viewing as numbers.
    const values = new KINDS[bytes](buffer.slice(offset, offset + bytes * count));
    const inner = framed ? shape.slice(1) : shape;
    return [name, { values, inner, framed, size: inner.reduce((p, q) => p * q, 1) }];
  }));
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
