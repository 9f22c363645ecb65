// A component's state, its changes, and its messages to Python: one is in flight at a time, and
// Python's outdated data are ignored. Comes first (see source.py); wire.py is the other end.
//
// Such a component must return no function for its end: Streamlit "unmounts" a call that the next
// one overtakes, although the element stays, and quick reruns do overtake one another.

const LOOK_MS = 30; // how often to look whether Python is free again
const PATIENCE_MS = 2000; // after which a message counts as lost, or its run as too long
const HOLD_MS = 10000; // after which Python's data count in any case

// The state of the component `name`, which stays with its element: `heard` is the newest serial
// that Python has received, `waiting` whether it should hear of a change, `draw` draws all, `take`
// returns what is said under the name of `trigger`. From the first message on `flying` is the
// newest one's { serial, at }.
function stateOf({ parentElement, setTriggerValue }, name, trigger, first) {
  const root = parentElement.querySelector(`.gc-${name}`);
  const find = part => root.querySelector(`.gc-${name}-${part}`);
  if (!root.__gc) keepTypeset(root);
  const state = (root.__gc ??= { root, find, name, trigger, heard: 0, ...first });
  state.report = setTriggerValue;
  return state;
}

// Streamlit sets this attribute for tests; without it, a message waits for its answer only.
const isRunning = () => !['notRunning', undefined]
  .includes(document.querySelector('[data-testid=stApp]')?.dataset.testScriptState);

const isAwaited = ({ flying, heard }) => flying && performance.now() < flying.at + PATIENCE_MS
  && (flying.serial > heard || isRunning());

// Whether what is drawn is newer than Python's data, which must not undo it.
const isUnheard = ({ heard, flying }) => flying?.serial > heard
  && performance.now() < flying.at + HOLD_MS;
const isOurs = state => isUnheard(state)
  || Boolean(state.waiting || state.handling || state.playing);

function hear(state, heard) {
  state.heard = Math.max(state.heard, heard);
}

// Outside of fragments a message interrupts the run that draws the picture for the one before, and
// of several unread ones Python gets only the newest. So one message is in flight, until its run
// has ended.
function post(state) {
  const { root } = state;
  clearTimeout(state.timer);
  root.toggleAttribute('data-ahead', isUnheard(state) ?? false); // Python does not know it yet
  if (!state.waiting || state.handling || state.playing || !root.isConnected) return;
  if (isAwaited(state)) {
    state.timer = setTimeout(() => post(state), LOOK_MS);
    return;
  }
  // Serials outgrow those of earlier visits to this page, which Python may still remember.
  const serial = Math.max((state.flying?.serial ?? 0) + 1, state.heard + 1, Date.now());
  Object.assign(state, { waiting: false, flying: { serial, at: performance.now() } });
  root.setAttribute('data-ahead', '');
  state.report(state.trigger, { ...state.take(state), serial });
}

// At most one drawing for each frame.
function redraw(state) {
  state.drawing ??= requestAnimationFrame(() => {
    state.drawing = null;
    state.draw(state);
  });
}

// While something is dragged.
function change(state) {
  state.handling = true;
  redraw(state);
}

// The visitor has let go: Python hears of it, and what is said is read aloud.
function settle(state) {
  Object.assign(state, { handling: false, waiting: true });
  cancelAnimationFrame(state.drawing);
  state.drawing = null;
  state.draw(state);
  const aloud = state.find('aloud');
  if (aloud) aloud.textContent = state.find('sentence').textContent;
  post(state);
}

const countDrawing = ({ dataset }) => { dataset.n = 1 + Number(dataset.n ?? 0); };

function element(tag, properties = {}, ...content) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...content);
  return node;
}

// A sentence of which the first part is bold.
function say(node, bold, rest) {
  node.replaceChildren(element('strong', {}, bold), ` ${rest}`);
}
