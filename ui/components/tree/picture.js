// The tree as a drawing: from right to left the entry, its heads, their experts, their tokens.
// Elements are made once for a model's sizes and a width; each has a function that updates it.

const ROW = { least: 12, most: 30 }; // pixels between two tokens' branches
const EXPERT_GAP = 7;
const HEAD_GAP = 16;
const SPREAD = 18; // pixels between two heads where they meet
const TITLES = 44; // pixels above the first branch
const WIDEST = 44; // pixels of the widest branch that any input of the square has
const NARROW = 600; // below it the tree is a list
const DASH = { period: 10, gap: 4 }; // of negative branches, as in tree.css
const LINE = 21; // pixels of a row of the list
const BOX = { half: 27, top: 20, number: 23 };
// Pixels beside the middle of a text.
const GAP = { name: 42, small: 20, number: 25, head: 25, sum: 12 };
const ROUTING = ['G3', 'G4']; // gates within the attention weights
const SAMPLED = [-1, -0.5, 0, 0.5, 1]; // inputs, both ways, from which the scale of widths comes

// Two decimals, fewer figures than anybody reads; a power of ten for what these would hide.
function numberText(value) {
  if (value === 0) return '0';
  const isPlain = Math.abs(value) >= 5e-3 && Math.abs(value) < 1e4;
  const text = isPlain ? value.toFixed(2) : value.toExponential(1);
  return text.replaceAll('-', '−');
}

const nameOf = (h, c) => `${h + 1}.${c + 1}`; // of an expert, as in the link

// The largest size of a token's number and of any sum, for all inputs of the square.
function largest(data) {
  let [token, all] = [0, 0];
  const inputs = SAMPLED.flatMap(u => SAMPLED.map(v => [u, v]));
  for (const strength of data.gate ? [0, data.strength, 1] : [0]) {
    for (const { value, heads } of inputs.map(input => entryOf(data, input, strength))) {
      const experts = heads.flatMap(head => head.experts);
      const sums = [value, ...[...heads, ...experts].map(part => part.sum)];
      const parts = experts.flatMap(expert => expert.tokens.flatMap(part =>
        [part.gives, part.gate * part.gives]));
      all = Math.max(all, ...sums.map(Math.abs));
      token = Math.max(token, ...parts.map(Math.abs));
    }
  }
  return { token: token || 1, all: Math.max(all, token) || 1 };
}

// A drawing in progress: what is added has an `update`, called with every new entry.
function pen(svg) {
  const updates = [];
  const add = (parent, tag, attributes, update) => {
    const node = make(tag, attributes);
    parent.append(node);
    if (update) updates.push(entry => update(node, entry));
    return node;
  };
  const text = (parent, x, y, anchor, kind, content) => {
    const update = (node, entry) => { node.textContent = content(entry); };
    add(parent, 'text', { x, y, 'text-anchor': anchor, class: kind }, update);
  };
  // A path whose sign and size are those of a value; `shapeOf(size)` are its attributes.
  const branch = (parent, value, shapeOf) => add(parent, 'path', {}, (node, entry) => {
    const size = value(entry);
    assign(node, { class: size < 0 ? 'gc-minus' : 'gc-plus', ...shapeOf(Math.abs(size)) });
    // A whole number of dashes: no stub at an end, and those of branches that meet coincide there.
    const dashes = Math.max(1, Math.round(node.getTotalLength() / DASH.period));
    node.setAttribute('pathLength', dashes * DASH.period - DASH.gap);
  });
  return { svg, updates, add, text, branch };
}

function curve(x1, y1, x2, y2) {
  const middle = (x1 + x2) / 2;
  return `M${x1} ${y1} C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
}

// A group for the expert (h, c): it is hovered, focused and clicked as one.
function expertGroup(draw, h, c, box) {
  const shared = { class: 'gc-expert', tabindex: 0, role: 'button', 'data-expert': nameOf(h, c) };
  const group = draw.add(draw.svg, 'g', shared, (node, entry) => {
    const own = numberText(entry.heads[h].experts[c].sum);
    node.setAttribute('aria-label', `Expert ${c + 1} of head ${h + 1}: ${own}`);
  });
  draw.add(group, 'rect', { ...box, class: 'gc-hit', rx: 4 });
  return group;
}

function drawWide(draw, data, width, room) {
  const { svg } = draw;
  const place = data.gate?.place;
  const [heads, tokens] = [data.values[0].length, data.values[0][0].length];
  const experts = data.queries[0][0].length;
  const [leaves, gaps] = [heads * experts * tokens, heads * (experts * EXPERT_GAP + HEAD_GAP)];
  const row = Math.max(ROW.least, Math.min(ROW.most, (room - TITLES - gaps) / leaves));
  const [small, gap] = row < 15 ? ['gc-small', GAP.small] : ['', GAP.number];
  const most = largest(data);
  const scale = Math.min(WIDEST / most.all, 1.2 * row / most.token);
  const across = share => share * (width - 190) + 132;
  const x = { gives: across(0), G2: across(0.1), weight: across(0.2), mixed: across(0.37),
    G1: across(0.51), out: across(0.62), head: across(0.77), all: across(0.88), G5: across(0.95),
    entry: across(1) };
  const height = TITLES + leaves * row + gaps;
  const middle = TITLES + (height - TITLES - HEAD_GAP) / 2;
  const branch = (parent, d, value) => draw.branch(parent, value,
    size => ({ d, 'stroke-width': Math.max(0.75, scale * size) }));
  const number = (parent, at, y, value, kind = small) =>
    draw.text(parent, at, y, 'middle', kind, entry => numberText(value(entry)));
  // A level branch; the gate with this name, where it is in this place, parts it with its number.
  const level = (parent, y, from, to, after, name, before, factor) => {
    const piece = (x1, x2, value) => branch(parent, `M${x1} ${y}H${x2}`, value);
    if (place !== name) return piece(from, to, after);
    piece(from, x[name] - gap, before);
    piece(x[name] + gap, to, after);
    return number(parent, x[name], y, factor, `gc-gate-value ${small}`);
  };
  const band = { x: x.weight - BOX.half, width: 2 * BOX.half, height: height - HEAD_GAP - BOX.top };
  svg.append(make('rect', { ...band, y: BOX.top, rx: 6, class: 'gc-router' }));
  const router = ROUTING.includes(place) ? `router, gate ${place}` : 'router: attention';
  const titles = [[0, 'start', 'value of each token'], [x.weight, 'middle', router],
    [x.mixed, 'middle', 'experts'], [x.out, 'middle', 'weight in output'],
    [x.head, 'middle', 'heads'], [x.entry + 40, 'end', 'output']];
  for (const [at, anchor, title] of titles) draw.text(svg, at, 8, anchor, 'gc-title', () => title);
  let top = TITLES;
  for (let h = 0; h < heads; h += 1) {
    const [own, head] = [entry => entry.heads[h], top];
    const headY = top + (experts * (tokens * row + EXPERT_GAP) - EXPERT_GAP) / 2;
    const end = middle + SPREAD * (h - (heads - 1) / 2);
    branch(svg, curve(x.head + GAP.head, headY, x.all - GAP.sum, end), entry => own(entry).sum);
    for (let c = 0; c < experts; c += 1) {
      const expert = entry => own(entry).experts[c];
      const [tall, y] = [tokens * row, top + tokens * row / 2];
      const box = { x: 0, y: top - EXPERT_GAP / 2, width: x.head, height: tall + EXPERT_GAP };
      const group = expertGroup(draw, h, c, box);
      level(group, y, x.mixed + GAP.name, x.out - gap,
        entry => expert(entry).gate * expert(entry).mixed,
        'G1', entry => expert(entry).mixed, entry => expert(entry).gate);
      branch(group, curve(x.out + gap, y, x.head - GAP.head, headY), entry => expert(entry).sum);
      for (let t = 0; t < tokens; t += 1) {
        const leaf = top + (t + 0.5) * row;
        const part = entry => expert(entry).tokens[t];
        level(group, leaf, x.gives, x.weight - BOX.number,
          entry => part(entry).gate * part(entry).gives,
          'G2', entry => part(entry).gives, entry => part(entry).gate);
        branch(group, curve(x.weight + BOX.number, leaf, x.mixed - GAP.name, y),
          entry => part(entry).routed);
        draw.text(group, 36, leaf, 'start', `gc-title ${small}`, () => `token ${t + 1}`);
        draw.text(group, x.gives - 5, leaf, 'end', small, entry => numberText(part(entry).gives));
        number(group, x.weight, leaf, entry => part(entry).weight, `gc-routes ${small}`);
      }
      const high = Math.min(30, tall);
      const shape = { x: x.mixed - GAP.name, y: y - high / 2, width: 2 * GAP.name, height: high };
      draw.add(group, 'rect', { ...shape, rx: 6, class: 'gc-box' });
      draw.text(group, x.mixed, y, 'middle', 'gc-name', () => `expert ${nameOf(h, c)}`);
      number(group, x.out, y, entry => expert(entry).projection);
      top += tall + EXPERT_GAP;
    }
    number(svg, x.head, headY, entry => own(entry).sum, 'gc-strong');
    const turned = { class: 'gc-title', transform: `translate(10 ${headY}) rotate(-90)` };
    svg.append(make('path', { class: 'gc-bracket', d: `M30 ${head}H24V${top - EXPERT_GAP}H30` }),
      make('text', { ...turned, 'text-anchor': 'middle' }, `head ${h + 1}`));
    top += HEAD_GAP;
  }
  draw.text(svg, x.all, middle, 'middle', 'gc-strong', () => '+');
  level(svg, middle, x.all + GAP.sum, x.entry, entry => entry.value,
    'G5', entry => sum(entry.heads.map(head => head.sum)), entry => entry.outside);
  draw.text(svg, x.entry + 4, middle, 'start', 'gc-strong', entry => numberText(entry.value));
  const span = place === 'G5' ? [middle - 30, middle + 30] : [BOX.top, height - HEAD_GAP];
  return { height, box: x[place] && { x: x[place], span } };
}

// On a phone: one column, the entry first.
function drawNarrow(draw, data, width) {
  const place = data.gate?.place;
  const left = width * 0.66;
  const scale = (width - left) / largest(data).all;
  let y = LINE / 2;
  const bar = (parent, indent, kind, content, value) => {
    const at = y;
    draw.text(parent, indent, at, 'start', kind, content);
    draw.branch(parent, value, size =>
      ({ 'stroke-width': 9, d: `M${left} ${at} h${Math.max(0.75, scale * size)}` }));
    y += LINE;
  };
  const gate = (name, factor, sign = ' ×') =>
    (place === name ? `${sign} gate ${numberText(factor)}` : '');
  bar(draw.svg, 0, 'gc-strong', ({ value, outside }) =>
    `${data.name} = ${numberText(value)}${gate('G5', outside, ',')}`, ({ value }) => value);
  data.values[0].forEach((tokens, h) => {
    const head = entry => entry.heads[h].sum;
    bar(draw.svg, 8, '', entry => `head ${h + 1}: ${numberText(head(entry))}`, head);
    data.queries[0][h].forEach((_, c) => {
      const expert = entry => entry.heads[h].experts[c];
      const box = { x: 0, y: y - LINE / 2, width, height: (tokens.length + 1) * LINE };
      const group = expertGroup(draw, h, c, box);
      bar(group, 16, '', entry => {
        const { projection, gate: own } = expert(entry);
        return `expert ${nameOf(h, c)}: Wₒ ${numberText(projection)}${gate('G1', own)}`;
      }, entry => expert(entry).sum);
      tokens.forEach((_token, t) => {
        const alpha = ROUTING.includes(place) ? 'gated α' : 'α';
        bar(group, 28, 'gc-small', entry => {
          const { weight, gate: inner, gives } = expert(entry).tokens[t];
          const factors = `${numberText(weight)}${gate('G2', inner)} × ${numberText(gives)}`;
          return `token ${t + 1}: ${alpha} ${factors}`;
        }, entry => expert(entry).tokens[t].routed);
      });
    });
  });
  return { height: y, box: null };
}
