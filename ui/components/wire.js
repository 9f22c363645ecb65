// How do a component and Python take turns? One message is in flight, and stale news do not count.
// Stands before a component's own script (see source.py); wire.py is the other end.
//
// A component's state has `heard`, the newest serial that Python knows of (0 at first), `report`, and
// `next(state)`, which says what should be sent next, or nothing:
//   name       the trigger that Python listens to
//   early      milliseconds that it should still wait for what may come meanwhile
//   overtakes  whether it need not wait for the answer to the message in flight
//   take()     called when it is sent: what is in the message
// From the first message on `flying` is the newest one's { serial, at }.
//
// Such a component returns nothing to be called at its end, and rightly so: a call that the next one
// overtakes is "unmounted" at once although the element stays, and quick reruns do overtake one another.

const LOOK_MS = 30; // how often to look whether Python is free again
const PATIENCE_MS = 2000; // after which a message counts as lost, or its run as too long to wait for
const HOLD_MS = 10000; // after which Python's word counts even so

// Streamlit shows this for tests; should it go, a message waits for its answer only.
const isRunning = () => !['notRunning', undefined]
  .includes(document.querySelector('[data-testid=stApp]')?.dataset.testScriptState);

const isAwaited = ({ flying, heard }) => flying && performance.now() < flying.at + PATIENCE_MS
  && (flying.serial > heard || isRunning());

// Whether what Python says was said before it heard of this message: it must not undo that.
const isUnheard = ({ heard }, message) => message?.serial > heard && performance.now() < message.at + HOLD_MS;

function hear(state, heard) {
  state.heard = Math.max(state.heard, heard);
}

// A message interrupts the run that draws the picture for the one before (outside of fragments), and
// of several that Python has not read yet it keeps only the newest. So there is one message in flight,
// until its run has ended.
function post(root, state) {
  clearTimeout(state.timer);
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
  state.report(name, { ...take(), serial });
  post(root, state);
}
