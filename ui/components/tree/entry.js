// One entry of an attention layer's output, computed from the numbers that Python sends once. The
// same sums as in gating_core/experts/entry.py, at any input and any strength of the gate. Before
// all files stands SIGMA, a gate's function by its kind: Python writes it from GATE_KINDS.

const AMONG_TOKENS = ['G2', 'G3']; // gates that read every token; the others read the first
const sum = numbers => numbers.reduce((total, number) => total + number, 0);

// The value at (u, v) of an affine map: its constant, and what each coordinate adds.
const affine = ([constant, first, second], [u, v]) => (Array.isArray(constant)
  ? constant.map((part, i) => affine([part, first[i], second[i]], [u, v]))
  : constant + u * first + v * second);

// { value, outside, heads: [{ sum, experts: [{ mixed, sum, projection, gate,
//   tokens: [{ gives, gate, weight, ungated, routed }] }] }] }; a gate at G5 multiplies the value alone
function entryOf(data, x, strength) {
  const { gate, channel } = data;
  const [values, queries, keys] = ['values', 'queries', 'keys'].map(name => affine(data[name], x));
  const opened = gate && affine(gate.logits, x).map(heads => heads.map(head => head.map(
    z => (1 - strength) + strength * SIGMA[gate.kind](z))));
  // The factor of a gate at `place`, for a token, a head and its channel.
  const factor = (place, token, head, c) => (gate?.place !== place ? 1
    : opened[AMONG_TOKENS.includes(place) ? token : 0][head][c]);
  const size = queries[0].length;
  const outside = factor('G5', 0, Math.floor(channel / size), channel % size);
  const heads = values.map((tokens, h) => {
    const score = (token, gated) => sum(queries[h].map((q, c) => q * keys[h][token][c]
      * (gated ? factor('G4', 0, h, c) * factor('G3', token, h, c) : 1))) / Math.sqrt(size);
    const [weights, ungated] = [true, false].map(gated =>
      softmax(tokens.map((_, token) => score(token, gated))));
    const experts = queries[h].map((_, c) => {
      const [projection, own] = [data.projection[h][c][channel], factor('G1', 0, h, c)];
      const parts = tokens.map((gives, token) => {
        const inner = factor('G2', token, h, c);
        const [weight, without] = [weights[token], ungated[token]];
        const routed = weight * inner * gives[c];
        return { gives: gives[c], gate: inner, weight, ungated: without, routed };
      });
      const mixed = sum(parts.map(({ routed }) => routed));
      return { mixed, sum: projection * own * mixed, projection, gate: own, tokens: parts };
    });
    return { sum: sum(experts.map(each => each.sum)), experts };
  });
  return { value: outside * sum(heads.map(head => head.sum)), outside, heads };
}

function softmax(scores) {
  const largest = Math.max(...scores);
  const powers = scores.map(score => Math.exp(score - largest));
  const total = sum(powers);
  return powers.map(power => power / total);
}
