// A table whose rows can be chosen: the first cell of a row is a button, and all of the row can be
// clicked. Comes after wire.js.
//
// Python sends { label, columns, rows: [{ word, cells }], chosen, heard } and receives "picked" with
// { word, serial }. A clicked row is marked at once, before Python has answered.

export default function ({ data: [data], parentElement, setTriggerValue }) {
  const table = parentElement.querySelector('.gc-rows');
  const state = (table.__gc ??= { heard: 0, next: nextMessage });
  state.report = setTriggerValue;
  hear(state, data.heard);
  if (!state.text) table.addEventListener('click', event => pick(table, state, event));
  const text = JSON.stringify([data.label, data.columns, data.rows]);
  if (text !== state.text) fill(table, data); // otherwise the focus would be lost
  state.text = text;
  if (!isUnheard(state, state.flying) && !state.picked) mark(table, data.chosen);
  post(table, state);
}

const nextMessage = state => state.picked && { name: 'picked', take: () => takePick(state) };

function takePick(state) {
  const word = state.picked;
  state.picked = null;
  return { word };
}

function pick(table, state, event) {
  const row = event.target.closest('tbody tr');
  if (!row || (event.detail && String(window.getSelection()))) return; // the pointer selects text
  state.picked = row.dataset.word;
  mark(table, state.picked);
  post(table, state);
}

function mark(table, word) {
  for (const row of table.tBodies[0].rows) {
    if (row.dataset.word === word) row.setAttribute('aria-current', 'true');
    else row.removeAttribute('aria-current');
  }
}

function fill(table, { label, columns, rows }) {
  table.setAttribute('aria-label', label);
  table.tHead.rows[0].replaceChildren(...columns.map(name => heading(name)));
  table.tBodies[0].replaceChildren(...rows.map(line));
}

function heading(text) {
  const cell = document.createElement('th');
  cell.scope = 'col';
  cell.textContent = text;
  return cell;
}

function line({ word, cells: [first, ...rest] }) {
  const row = document.createElement('tr');
  row.dataset.word = word;
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = first;
  row.insertCell().append(button);
  for (const text of rest) row.insertCell().textContent = text;
  return row;
}
