// Python's large data: a header comes with every run of the page; the arrays, megabytes, once from
// an address of their own. For a moment nothing may be there, while a run of the page drops and
// renews it. A run that grows may send more than a connection carries: while its frames load,
// newer ones wait, and only the newest of them are loaded.
const MOST_LOADS = 4; // for the pictures of a page, and those just before
const TRIES = 6;
const PAUSE = 200; // milliseconds before the second try; each pause is twice the one before
const loads = new Map(); // by address, oldest first: promises

async function newest(state, address) {
  state.address = address;
  const isNewest = () => state.address === address;
  while (state.coming && state.coming !== address) {
    await state.arrival;
    if (!isNewest()) return null;
  }
  const arrival = load(address, isNewest);
  state.coming = address;
  state.arrival = arrival.catch(() => {}).then(() => {
    if (state.coming === address) state.coming = null;
  });
  return arrival;
}

function load(address, isNewest) {
  const buffer = loads.get(address) ?? fetchAgain(address, isNewest);
  loads.delete(address);
  loads.set(address, buffer);
  buffer.catch(() => loads.delete(address));
  while (loads.size > MOST_LOADS) loads.delete(loads.keys().next().value);
  return buffer;
}

async function fetchAgain(address, isNewest) {
  for (let pause = PAUSE, tries = 1; ; pause *= 2, tries++) {
    try {
      const answer = await fetch(address);
      if (answer.ok) return await answer.arrayBuffer();
    } catch {} // no network, or it broke off
    if (tries === TRIES || !isNewest()) throw new Error('its data did not load');
    await new Promise(resolve => { setTimeout(resolve, pause); });
  }
}

// Takes the data of one run: `adopt(state, header, buffer, address)` draws them once their arrays
// are there, then a message may be sent. `loaded` names them in the sentence of an error.
function takeData(state, data, loaded, adopt) {
  const { root } = state;
  const header = JSON.parse(new TextDecoder().decode(data));
  hear(state, header.heard);
  const address = new URL(header.source, document.baseURI).href;
  const error = state.find('error');
  root.dataset.stale = 'true'; // until it is drawn
  newest(state, address).then(buffer => {
    if (!buffer || !root.isConnected) return;
    delete root.dataset.stale;
    error.textContent = '';
    adopt(state, header, buffer, address);
    post(state);
  }).catch(({ message }) => {
    delete root.dataset.stale;
    error.textContent = `${loaded} could not be loaded: ${message}`;
  });
}

const KINDS = { 1: Uint8Array, 2: Uint16Array, 4: Float32Array };

function unpack(entries, buffer) {
  return Object.fromEntries(Object.entries(entries).map(([name, { shape, offset, bytes }]) => {
    const count = shape.reduce((p, q) => p * q, 1);
    const copy = buffer.slice(offset, offset + bytes * count); // numbers must be aligned
    return [name, new KINDS[bytes](copy)];
  }));
}
