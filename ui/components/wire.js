// Messages of a component to Python: one is in flight at a time, and Python's outdated data are ignored.
// Comes before a component's own script (see source.py); wire.py is the other end.
//
// A component's state has `heard`, the newest serial that Python has received (0 at first), `report`, and
// `next(state)`, which returns the message to be sent next, or nothing:
//   name       the trigger that Python listens to
//   early      milliseconds that it should still wait, for changes that may come meanwhile
//   overtakes  whether it need not wait for the answer to the message in flight
//   take()     called when it is sent; returns the content
// From the first message on `flying` is the newest one's { serial, at }.
//
// Such a component must return no function for its end: Streamlit "unmounts" a call that the next one
// overtakes, although the element stays, and quick reruns do overtake one another.

const LOOK_MS = 30; // how often to look whether Python is free again
const PATIENCE_MS = 2000; // after which a message counts as lost, or its run as too long
const HOLD_MS = 10000; // after which Python's data count in any case

// Streamlit sets this attribute for tests; without it, a message waits for its answer only.
const isRunning = () => !['notRunning', undefined]
  .includes(document.querySelector('[data-testid=stApp]')?.dataset.testScriptState);

const isAwaited = ({ flying, heard }) => flying && performance.now() < flying.at + PATIENCE_MS
  && (flying.serial > heard || isRunning());

// Whether Python has sent its data before it received this message: they must not undo it.
const isUnheard = ({ heard }, message) => message?.serial > heard && performance.now() < message.at + HOLD_MS;

function hear(state, heard) {
  state.heard = Math.max(state.heard, heard);
}

// Outside of fragments a message interrupts the run that draws the picture for the one before, and of
// several unread ones Python gets only the newest. So one message is in flight, until its run has ended.
function post(root, state) {
  clearTimeout(state.timer);
  root.toggleAttribute('data-ahead', isUnheard(state, state.flying) ?? false); // what is drawn, Python does not know yet
  const next = state.next(state);
  if (!next || !root.isConnected) return;
  const { name, early = 0, overtakes = false, take } = next;
  if (early > 0 || (!overtakes && isAwaited(state))) {
    state.timer = setTimeout(() => post(root, state), Math.max(early, LOOK_MS));
    return;
  }
  // Serials outgrow those of earlier visits to this page, which Python may still remember.
  const serial = Math.max((state.flying?.serial ?? 0) + 1, state.heard + 1, Date.now());
  state.flying = { serial, at: performance.now() };
  root.setAttribute('data-ahead', '');
  state.report(name, { ...take(), serial });
  post(root, state);
}
