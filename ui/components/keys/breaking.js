// Try to break it: a hundred surfaces over the same keys, with other values, biases and metrics.

const DRAWS = 100;
const TILE = 12; // points of a tile both ways
const TILES_ACROSS = 20;

// Random numbers of a normal distribution from a seed (mulberry32, Box and Muller).
function normalNumbers(seed) {
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

// The same keys with other values and biases. A metric Σ = A Aᵀ measures y as the identity
// measures A⁻¹ y, so a random metric is a random linear map of the values.
function randomModel({ keys }, normal, hasSink) {
  const numbers = count => Array.from({ length: count }, normal);
  const biases = numbers(keys.length);
  const map = [numbers(3), numbers(3), numbers(3)];
  const values = keys.map(() => numbers(3));
  if (hasSink) values[3] = [0, 0, 0];
  return { keys, biases, values: values.map(value => map.map(row => dot(row, value))) };
}

// Draws the next hundred; returns how many points are known to have each sign, and how many
// neither.
function tryToBreak(state) {
  const canvas = state.find('tiles');
  canvas.hidden = false;
  const rows = Math.ceil(DRAWS / TILES_ACROSS);
  [canvas.width, canvas.height] = [TILES_ACROSS, rows].map(tiles => tiles * (TILE + 1) - 1);
  const context = canvas.getContext('2d');
  const normal = normalNumbers(state.round * DRAWS);
  const count = { positive: 0, negative: 0, open: 0 };
  for (let n = 0; n < DRAWS; n += 1) {
    const model = randomModel(attentionOf(state), normal, state.mode === 'sink');
    const { K, error } = sampled(model, TILE);
    const half = medianSize(K);
    const picture = context.createImageData(TILE, TILE);
    K.forEach((k, i) => {
      const isKnown = Math.abs(k) > error[i];
      count[isKnown ? (k > 0 ? 'positive' : 'negative') : 'open'] += 1;
      const pixel = TILE * (TILE - 1 - Math.floor(i / TILE)) + i % TILE;
      const colour = isKnown ? colourOf(k, half, k) : NEUTRAL;
      picture.data.set([...colour.map(x => 255 * x), 255], 4 * pixel);
    });
    const [across, down] = [n % TILES_ACROSS, Math.floor(n / TILES_ACROSS)];
    context.putImageData(picture, across * (TILE + 1), down * (TILE + 1));
  }
  state.round += 1;
  return count;
}

// What the count says, beside what the theorem says.
function breakingSentence({ positive, negative, open }) {
  const all = `${group(DRAWS * TILE * TILE)} points.`;
  const signs = [[positive, 'K > 0'], [negative, 'K < 0']].filter(([n]) => n);
  const below = '|K| is below its rounding bound';
  if (!signs.length) return `${DRAWS} random surfaces: ${below} at all ${all}`;
  const parts = signs.map(([n, words]) => `${words} at ${group(n)}`).join(', ');
  const left = open ? ` At ${group(open)} points ${below} (grey).` : '';
  const drawn = `${DRAWS} surfaces with random values, biases and metrics, the same keys`;
  return `${drawn}: ${parts} of ${all}${left}`;
}
