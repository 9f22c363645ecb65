// The text: a button for each token, underlined in its colour, shaded by the attention at the
// mark.

function buildText(state) {
  const { words, glued } = state.header;
  state.chips = words.map((word, number) => {
    const className = `gc-token${glued[number] ? ' gc-glued' : ''}`;
    const chip = element('button', { type: 'button', className, tabIndex: number ? -1 : 0 }, word);
    chip.style.setProperty('--gc-own', cssOf(state.colours[number]));
    chip.dataset.number = number;
    return chip;
  });
  state.find('text').replaceChildren(...state.chips);
}

function listenToText(state) {
  const box = state.find('text');
  const numberOf = event => event.target.closest?.('.gc-token')?.dataset.number;
  const light = number => {
    const key = number === undefined ? null : keyOf(state, Number(number));
    if (state.lit !== key) Object.assign(state, { lit: key, relit: true });
    redraw(state);
  };
  box.addEventListener('pointerover', event => {
    if (event.pointerType === 'mouse') light(numberOf(event));
  });
  box.addEventListener('focusin', event => light(numberOf(event)));
  for (const name of ['pointerleave', 'focusout']) box.addEventListener(name, () => light());
  box.addEventListener('click', event => {
    const number = numberOf(event);
    if (number === undefined) return;
    if (!state.open) light(number);
    else if (isOnChart(stateOfToken(shownHead(state), Number(number)))) {
      state.at = stateOfToken(shownHead(state), Number(number)).map(rounded);
      settle(state);
    }
  });
  box.addEventListener('keydown', event => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (!step || isChord(event)) return;
    event.preventDefault();
    const wanted = Number(numberOf(event)) + step;
    focusOne(state.chips, Math.max(0, Math.min(state.chips.length - 1, wanted)));
  });
}

// Of buttons that arrow keys move between, one is in the order of Tab.
function focusOne(buttons, at) {
  buttons.forEach((button, i) => { button.tabIndex = i === at ? 0 : -1; });
  buttons[at].focus();
}

// A token's number among the keys; null where it is none of them.
function keyOf(state, number) {
  const at = (state.open ? shownHead(state) : state.each[0]).tokens.indexOf(number);
  return at < 0 ? null : at;
}

// Where the state of a token stands; nowhere on a chart of weights.
const stateOfToken = ({ states, prescribed }, number) =>
  (prescribed ? [Infinity, Infinity] : [states[2 * number], states[2 * number + 1]]);
const isOnChart = place => place.every(x => Math.abs(x) <= 1);

const luminance = colour => [0.2126, 0.7152, 0.0722].reduce((sum, part, k) => {
  const x = Math.max(0, Math.min(1, colour[k]));
  return sum + part * (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
}, 0);
const inkOn = colour => (luminance(colour) > 0.179 ? '#000' : '#fff'); // 4.5 : 1 at least

// `weights` of the keys, or null where no place is marked.
function drawText(state, weights) {
  const paper = cssColour(getComputedStyle(state.root).backgroundColor);
  const largest = weights && weights[largestOf(weights)];
  state.chips.forEach((chip, number) => {
    const key = keyOf(state, number);
    const lit = state.lit !== null && state.lit === key;
    const weight = weights && key !== null ? weights[key] : null;
    const share = weights ? Math.sqrt((weight ?? 0) / largest) : Number(lit);
    const colour = mixed(paper, state.colours[number], share);
    chip.style.backgroundColor = share ? cssOf(colour) : '';
    chip.style.color = share ? inkOn(colour) : '';
    chip.classList.toggle('gc-unseen', key === null);
    const said = weight === null ? '' : `${percentOf(weight)} of the attention`;
    chip.title = key === null ? 'not among the keys' : said;
  });
}

// The three tokens that get most of the attention, as one sentence.
function attentionSentence(state, weights) {
  const { words } = shownHead(state);
  const order = Array.from(weights.keys()).sort((a, b) => weights[b] - weights[a]).slice(0, 3);
  return order.map(key => `“${words[key]}” ${percentOf(weights[key])}`).join(', ');
}
