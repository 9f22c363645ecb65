// A student's phone: it shows the current question, commits one answer, and follows the teacher.
const HERE = location.pathname.replace(/\/$/, '');
const EVERY_MS = 1500; // between two polls; a page that is not seen asks a tenth as often
const $ = id => document.getElementById(id);
let shown = null; // the state that is drawn
let picked = null; // of the choices, before it is committed
let sending = false;
let ended = false;
let timer = 0;

const say = text => { if ($('status').textContent !== text) $('status').textContent = text; };

function make(name, text = '', properties = {}) {
  const node = Object.assign(document.createElement(name), properties);
  node.textContent = text;
  return node;
}

function draw(state) {
  const fresh = shown?.index !== state.index;
  if (fresh) picked = null;
  shown = state;
  const { index, count, text, choices, picture, alt, revealed, distribution, answer, mine } = state;
  const closed = revealed || mine !== null;
  $('where').textContent = `Question ${index + 1} of ${count}`;
  $('text').textContent = text;
  const image = $('picture');
  image.hidden = !picture;
  image.alt = alt;
  if (picture) image.src = `${HERE}/picture/${picture}`;
  $('form').hidden = false;
  const total = revealed ? distribution.reduce((sum, votes) => sum + votes, 0) : 0;
  $('choices').replaceChildren(...choices.map((choice, i) => {
    const label = make('label');
    const input = make('input', '', { type: 'radio', name: 'choice', disabled: closed, checked: i === (mine ?? picked) });
    input.onchange = () => { picked = i; $('commit').disabled = false; };
    label.append(input, make('span', choice));
    if (!revealed) return label;
    const percent = total ? Math.round(100 * distribution[i] / total) : 0;
    const bar = make('i');
    bar.style.width = `${percent}%`;
    const votes = make('b', `${distribution[i]} (${percent} %)`);
    const note = [i === answer && '✓ correct', i === mine && 'your answer'].filter(Boolean).join(' · ');
    if (note) votes.append(make('small', note));
    label.prepend(bar);
    label.append(votes);
    return label;
  }));
  $('commit').hidden = closed;
  $('commit').disabled = picked === null || sending;
  if (revealed) say(mine === null ? 'This question is closed.' : mine === answer ? 'Your answer is correct.' : 'Your answer was another one.');
  else say(mine === null ? '' : 'Committed. Wait for the reveal.');
  if (fresh && document.activeElement !== document.body) $('text').focus();
}

function end(text) {
  ended = true;
  for (const id of ['form', 'picture', 'where']) $(id).hidden = true;
  $('text').textContent = text;
  say('');
}

async function ask(path, body) {
  const answer = await fetch(HERE + path, body && {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body),
  });
  if (answer.status === 204) return null;
  const state = await answer.json();
  if (answer.status === 410) { end(state.error); return null; }
  if (!answer.ok) throw new Error(state.error);
  return state;
}

async function poll() {
  clearTimeout(timer);
  if (ended) return;
  try {
    const state = await ask(`/state?since=${shown.version}`);
    if (state && !sending) draw(state);
    else if (!ended && $('status').dataset.lost) draw(shown);
    delete $('status').dataset.lost;
  } catch {
    $('status').dataset.lost = 1;
    say('Connection lost. Trying again …');
  }
  clearTimeout(timer); // of a poll that has begun meanwhile
  timer = setTimeout(poll, (document.hidden ? 10 : 1) * EVERY_MS * (0.9 + 0.2 * Math.random()));
}

$('form').onsubmit = async event => {
  event.preventDefault();
  if (picked === null || sending) return;
  sending = true;
  $('commit').disabled = true;
  let problem = '';
  try {
    const state = await ask('/vote', { question: shown.index, choice: picked });
    if (state) draw(state);
  } catch (error) {
    problem = error instanceof TypeError ? 'Not sent. Try again.' : error.message;
  }
  sending = false;
  $('commit').disabled = picked === null;
  if (problem) say(problem);
};

// A phone that was asleep catches up.
document.addEventListener('visibilitychange', () => { if (!document.hidden && shown) poll(); });

async function join() {
  if (!navigator.cookieEnabled) return end('Allow cookies for this page to take part.');
  try {
    const state = await ask('/join', {});
    if (state) { draw(state); timer = setTimeout(poll, EVERY_MS); }
  } catch (error) {
    say(error instanceof TypeError ? 'No connection. Trying again …' : error.message);
    timer = setTimeout(join, 2000 + 3000 * Math.random());
  }
}
join();
