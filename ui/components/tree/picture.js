// The tree as a drawing: from right to left the entry, its heads, their experts, their tokens.
// Elements are made once for a model's sizes and a width; each has a function that updates it.

const ROW = { least: 12, most: 30 }; // pixels between two tokens' branches
const EXPERT_GAP = 7;
const HEAD_GAP = 16;
const TITLES = 34; // pixels above the first branch
const WIDEST = 44; // pixels of the widest branch that any input of the square has
const NARROW = 560; // below it the tree is a list
const LINE = 21; // pixels of a row of the list
const BOX = { half: 27, top: 20 };
const GAP = { name: 13, small: 18, number: 21, head: 25 }; // pixels on either side of the middle of a text
const SAMPLED = [-1, -0.5, 0, 0.5, 1]; // inputs, both ways, from which the scale of widths comes

// Three decimals, fewer figures than anybody reads; a power of ten for what these would hide.
function numberText(value) {
  if (value === 0) return '0';
  const text = Math.abs(value) < 1e-3 || Math.abs(value) >= 1e4 ? value.toExponential(1) : value.toFixed(3);
  return text.replaceAll('-', '−');
}

const nameOf = (h, c) => `${h + 1}.${c + 1}`; // of an expert, as in the link

// The largest sizes of tokens' terms and of everything, for all inputs of the square.
function largest(data) {
  let [term, all] = [0, 0];
  for (const u of SAMPLED) for (const v of SAMPLED) for (const strength of data.gate ? [0, data.strength, 1] : [0]) {
    const entry = entryOf(data, [u, v], strength);
    all = Math.max(all, Math.abs(entry.value));
    for (const head of entry.heads) {
      all = Math.max(all, Math.abs(head.sum));
      for (const expert of head.experts) {
        all = Math.max(all, Math.abs(expert.sum));
        for (const part of expert.tokens) term = Math.max(term, Math.abs(part.term));
      }
    }
  }
  return { term, all: Math.max(all, term) || 1 };
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
  const text = (parent, x, y, anchor, kind, content) => add(
    parent, 'text', { x, y, 'text-anchor': anchor, class: kind },
    (node, entry) => { node.textContent = typeof content === 'string' ? content : content(entry); });
  const branch = (parent, path, scale, value) => add(parent, 'path', { d: path }, (node, entry) => {
    const size = value(entry);
    assign(node, { class: size < 0 ? 'gc-minus' : 'gc-plus', 'stroke-width': Math.max(0.75, scale * Math.abs(size)) });
  });
  return { svg, updates, add, text, branch };
}

// A branch does not run through the texts on it: it has gaps there.
const curve = (x1, y1, x2, y2) => `M${x1} ${y1} C${(x1 + x2) / 2} ${y1} ${(x1 + x2) / 2} ${y2} ${x2} ${y2}`;
function level(y, from, to, texts) {
  const starts = [from, ...texts.map(([x, gap]) => x + gap)];
  const ends = [...texts.map(([x, gap]) => x - gap), to];
  return starts.map((x, n) => (x < ends[n] ? `M${x} ${y}H${ends[n]}` : '')).join('');
}

// A group for the expert (h, c): it is hovered, focused and clicked as one.
function expertGroup(draw, h, c, box) {
  const group = draw.add(draw.svg, 'g',
    { class: 'gc-expert', tabindex: 0, role: 'button', 'data-expert': nameOf(h, c) }, (node, entry) => {
      const { sum: own } = entry.heads[h].experts[c];
      node.setAttribute('aria-label', `Expert ${c + 1} of head ${h + 1}: ${numberText(own)}`);
    });
  draw.add(group, 'rect', { ...box, class: 'gc-hit', rx: 4 });
  return group;
}

function drawWide(draw, data, width, room) {
  const [heads, experts, tokens] = [data.values[0].length, data.queries[0][0].length, data.values[0][0].length];
  const leaves = heads * experts * tokens;
  const gaps = heads * experts * EXPERT_GAP + heads * HEAD_GAP;
  const row = Math.max(ROW.least, Math.min(ROW.most, (room - TITLES - gaps) / leaves));
  const [small, gap] = row < 15 ? ['gc-small', GAP.small] : ['', GAP.number];
  const most = largest(data);
  const scale = Math.min(WIDEST / most.all, 1.3 * row / most.term);
  const across = share => share * (width - 150) + 92;
  const x = { gives: across(0), g2: across(0.1), weight: across(0.21), mixed: across(0.35), g1: across(0.46),
    out: across(0.58), head: across(0.74), all: across(0.88), g5: across(0.94), entry: across(1) };
  const height = TITLES + leaves * row + gaps;
  const middle = TITLES + (height - TITLES - HEAD_GAP) / 2;

  const titles = [[x.gives, 'end', 'value x·Wᵥ'], [x.weight, 'middle', 'attention α'], [x.mixed, 'middle', 'expert'],
    [x.out, 'middle', 'Wₒ'], [x.head, 'middle', 'head'], [x.entry, 'start', data.name]];
  for (const [at, anchor, title] of titles) draw.text(draw.svg, at, 8, anchor, 'gc-title', title);

  let top = TITLES;
  for (let h = 0; h < heads; h += 1) {
    const own = entry => entry.heads[h];
    const headY = top + (experts * (tokens * row + EXPERT_GAP) - EXPERT_GAP) / 2;
    draw.branch(draw.svg, curve(x.head + GAP.head, headY, x.all, middle), scale, entry => own(entry).sum);
    for (let c = 0; c < experts; c += 1) {
      const expert = entry => own(entry).experts[c];
      const y = top + tokens * row / 2;
      const group = expertGroup(draw, h, c, { x: 0, y: top - EXPERT_GAP / 2, width: x.head, height: tokens * row + EXPERT_GAP });
      const gate = data.gate?.place === 'G1' ? [[x.g1, gap]] : [];
      draw.branch(group, level(y, x.mixed + GAP.name, x.out - gap, gate) + curve(x.out + gap, y, x.head - GAP.head, headY), scale,
        entry => expert(entry).sum);
      for (let t = 0; t < tokens; t += 1) {
        const leaf = top + (t + 0.5) * row;
        const part = entry => expert(entry).tokens[t];
        const inner = data.gate?.place === 'G2' ? [[x.g2, gap]] : [];
        draw.branch(group, level(leaf, x.gives, x.weight - gap, inner) + curve(x.weight + gap, leaf, x.mixed - GAP.name, y), scale,
          entry => part(entry).term);
        draw.text(group, 0, leaf, 'start', `gc-title ${small}`, `token ${t + 1}`);
        draw.text(group, x.gives - 5, leaf, 'end', small, entry => numberText(part(entry).gives));
        draw.text(group, x.weight, leaf, 'middle', small, entry => numberText(part(entry).weight));
        if (data.gate?.place === 'G2') {
          draw.text(group, x.g2, leaf, 'middle', `gc-gate-value ${small}`, entry => numberText(part(entry).gate));
        }
      }
      draw.text(group, x.mixed, y, 'middle', small, `E${nameOf(h, c)}`);
      draw.text(group, x.out, y, 'middle', small, entry => numberText(expert(entry).projection));
      if (data.gate?.place === 'G1') {
        draw.text(group, x.g1, y, 'middle', `gc-gate-value ${small}`, entry => numberText(expert(entry).gate));
      }
      top += tokens * row + EXPERT_GAP;
    }
    draw.text(draw.svg, x.head, headY, 'middle', 'gc-strong', entry => numberText(own(entry).sum));
    top += HEAD_GAP;
  }
  const outer = data.gate?.place === 'G5' ? [[x.g5, gap]] : [];
  draw.branch(draw.svg, level(middle, x.all, x.entry, outer), scale, entry => entry.value);
  if (data.gate?.place === 'G5') {
    draw.text(draw.svg, x.g5, middle, 'middle', 'gc-gate-value', entry => numberText(entry.outside));
  }
  draw.text(draw.svg, x.entry + 4, middle, 'start', 'gc-strong', entry => numberText(entry.value));
  const spots = { G1: x.g1, G2: x.g2, G3: x.weight, G4: x.weight, G5: x.g5 };
  const span = data.gate?.place === 'G5' ? [middle - 30, middle + 30] : [BOX.top, height - HEAD_GAP];
  return { height, box: data.gate && { x: spots[data.gate.place], span } };
}

// On a phone: one column, the entry first.
function drawNarrow(draw, data, width) {
  const most = largest(data);
  const left = width * 0.66;
  const scale = (width - left) / most.all;
  let y = LINE / 2;
  const bar = (parent, indent, kind, content, value) => {
    const at = y;
    draw.text(parent, indent, at, 'start', kind, content);
    draw.add(parent, 'path', { 'stroke-width': 9 }, (node, entry) => {
      const size = value(entry);
      assign(node, { class: size < 0 ? 'gc-minus' : 'gc-plus', d: `M${left} ${at} h${Math.max(0.75, scale * Math.abs(size))}` });
    });
    y += LINE;
  };
  const gated = (place, factor) => (data.gate?.place === place ? ` × gate ${numberText(factor)}` : '');
  const outside = entry => (data.gate?.place === 'G5' ? `, gate ${numberText(entry.outside)}` : '');
  bar(draw.svg, 0, 'gc-strong', entry => `${data.name} = ${numberText(entry.value)}${outside(entry)}`,
    entry => entry.value);
  data.values[0].forEach((tokens, h) => {
    bar(draw.svg, 8, '', entry => `head ${h + 1}: ${numberText(entry.heads[h].sum)}`, entry => entry.heads[h].sum);
    data.queries[0][h].forEach((_, c) => {
      const expert = entry => entry.heads[h].experts[c];
      const group = expertGroup(draw, h, c, { x: 0, y: y - LINE / 2, width, height: (tokens.length + 1) * LINE });
      bar(group, 16, '', entry => `expert ${nameOf(h, c)}: Wₒ ${numberText(expert(entry).projection)}${gated('G1', expert(entry).gate)}`,
        entry => expert(entry).sum);
      tokens.forEach((_token, t) => {
        const part = entry => expert(entry).tokens[t];
        const routed = ['G3', 'G4'].includes(data.gate?.place) ? 'gated α' : 'α';
        bar(group, 28, 'gc-small', entry => `token ${t + 1}: ${routed} ${numberText(part(entry).weight)}${gated('G2', part(entry).gate)}`
          + ` × ${numberText(part(entry).gives)}`, entry => part(entry).term);
      });
    });
  });
  return { height: y, box: null };
}
