// Words in a scene.

const [LETTER, LINE] = [0.55, 1.5]; // width of one, on average, and height of a line, in sizes of their type
const MOST_STEPS = 12; // by which a word is moved to be free
const PAPER = 0.7; // opaque, behind a word
const OUTWARDS = 16; // pixels of a word's middle above or below its point
const BESIDE = 8; // pixels of its nearer end beside it

const atCorner = note => !note.right && !note.down;
const widthOf = text => LETTER * typePixels() * text.replace(/<[^>]*>/g, '').length;
const roomOf = ({ text }) => BESIDE + widthOf(text); // pixels beside its corner

// Words beside points, with lines between them and without overlaps; none for unknown points.
function leaders(panel, state, div) {
  const camera = state.camera(panel);
  const known = panel.notes.map(note => ({ ...note, point: pointOf(note, state) }))
    .filter(({ point }) => point.every(Number.isFinite))
    .map(note => ({ ...note, at: inPicture(note.point, panel, camera, div) }));
  const outer = known.filter(atCorner);
  const middle = [0, 1].map(i => outer.reduce((sum, { at: place }) => sum + place[i] / outer.length, 0));
  const placed = [];
  const background = getComputedStyle(div).getPropertyValue('--st-background-color').trim();
  const paper = mix(background, background, 1).replace('rgb', 'rgba').replace(')', `,${PAPER})`);
  known.forEach(note => placed.push(leader(note, middle, placed, paper)));
  return placed.map(({ annotation }) => annotation);
}

function pointOf({ prefix, place }, state) {
  return ['x', 'y', 'z'].map(axis => {
    const array = state.arrays[`${prefix}_${axis}`];
    return array.values[(array.framed ? state.frame * array.size : 0) + place];
  });
}

// Without an overlap with those that were placed.
function leader(note, middle, placed, paper) {
  const { text, point: [x, y, z], at: [across, below], right, down } = note;
  const away = [across - middle[0], below - middle[1]];
  const inwards = across > 0 ? -1 : 1;
  const outer = atCorner(note);
  const wide = widthOf(text);
  const farthest = Math.max(...away.map(Math.abs)) || 1; // so across or down, the text is far enough from its point
  const ax = outer ? (BESIDE + wide / 2) * away[0] / farthest : inwards * right;
  let ay = outer ? OUTWARDS * away[1] / farthest : down;
  const xanchor = outer ? 'center' : inwards > 0 ? 'left' : 'right';
  const left = across + ax - { left: 0, center: wide / 2, right: wide }[xanchor];
  const line = LINE * typePixels();
  const isFree = () => placed.every(other => left > other.left + other.wide || other.left > left + wide
    || Math.abs(below + ay - other.middle) > line);
  const step = ay < 0 ? -line / 2 : line / 2;
  for (let tries = 0; tries < MOST_STEPS && !isFree(); tries += 1) ay += step;
  const annotation = { x, y, z, text, ax, ay, xanchor, bgcolor: paper, font: { size: typePixels() }, arrowhead: 0, arrowwidth: 1, captureevents: false };
  return { left, wide, middle: below + ay, annotation };
}
