// A student's phone: it shows the current question, sends what is chosen, and follows the teacher.
const HERE = location.pathname.replace(/\/$/, '');
const EVERY_MS = 1500; // between two polls; a page that is not seen asks a tenth as often
const LETTERS = 'ABCD';
const ANSWER_MS = 10000; // in which an answer comes, or is lost
const $ = id => document.getElementById(id);
let shown = null; // the state that is drawn
let picked = null; // a choice that is being sent
let sent = null; // the last one
let problem = ''; // why it has perhaps not arrived
let ended = false;
let timer = 0;

const say = text => { if ($('status').textContent !== text) $('status').textContent = text; };

function make(name, text = '', properties = {}) {
  const node = Object.assign(document.createElement(name), properties);
  node.textContent = text;
  return node;
}

class Refusal extends Error {}

function draw(state) {
  const fresh = shown?.index !== state.index;
  const held = document.activeElement?.name === 'choice' && document.activeElement.value;
  if (fresh || sent === state.mine) problem = '';
  shown = state;
  const { index, count, text, choices, picture, alt, revealed, distribution, answer, mine } = state;
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
    const input = make('input', '', { type: 'radio', name: 'choice', value: i, disabled: revealed, checked: i === (picked ?? mine) });
    input.onchange = () => send(i);
    label.append(input, make('span', `${LETTERS[i]}. ${choice}`));
    if (!revealed) return label;
    label.classList.toggle('right', i === answer);
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
  if (revealed) say(mine === null ? 'This question is closed.' : mine === answer ? 'Your answer is correct.' : 'Your answer was another one.');
  else say(problem || (mine === null ? '' : 'Your answer has arrived. You can change it until the reveal.'));
  if (held && !fresh) document.querySelector(`input[value="${held}"]`)?.focus();
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
    signal: AbortSignal.timeout?.(ANSWER_MS),
  });
  if (answer.status === 204) return null;
  const state = await answer.json().catch(() => null); // a proxy answers in HTML
  if (answer.status === 410 && state?.error) { end(state.error); return null; }
  if (!answer.ok && state?.error) throw new Refusal(state.error);
  if (!answer.ok || !Array.isArray(state?.choices)) throw new Error('no answer of the class');
  return state;
}

async function poll() {
  clearTimeout(timer);
  if (ended) return;
  try {
    // What became of a choice whose answer was lost, the whole state says.
    const state = await ask(`/state?since=${problem ? '' : shown.version}`);
    if (state && picked === null) draw(state);
    else if (!ended && $('status').dataset.lost) draw(shown);
    delete $('status').dataset.lost;
  } catch {
    $('status').dataset.lost = 1;
    say('Connection lost. Trying again …');
  }
  clearTimeout(timer); // of a poll that has begun meanwhile
  timer = setTimeout(poll, (document.hidden ? 10 : 1) * EVERY_MS * (0.9 + 0.2 * Math.random()));
}

// Choosing is voting, until the reveal. The last choice is sent last.
async function send(choice) {
  const first = picked === null;
  picked = choice;
  if (!first) return;
  while (picked !== null) {
    sent = picked;
    try {
      const state = await ask('/vote', { question: shown.index, choice: sent });
      problem = '';
      if (picked === sent) picked = null;
      if (state) draw(state);
    } catch (error) {
      problem = error instanceof Refusal ? error.message : 'Not sent. Try again.';
      picked = null;
      draw(shown);
    }
  }
}

// A phone that was asleep catches up.
document.addEventListener('visibilitychange', () => { if (!document.hidden && shown) poll(); });

async function join() {
  if (!navigator.cookieEnabled) return end('Allow cookies for this page to take part.');
  try {
    const state = await ask('/join', {});
    if (state) { draw(state); timer = setTimeout(poll, EVERY_MS); }
  } catch (error) {
    say(error instanceof Refusal ? error.message : 'No connection. Trying again …');
    timer = setTimeout(join, 2000 + 3000 * Math.random());
  }
}
join();
