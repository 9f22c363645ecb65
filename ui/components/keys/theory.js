// Ungated attention over fixed values, and what its keys decide: gating_core/theory/keys.py in JavaScript.
//
// A model is { keys: [[x, y], …], biases, values: [[x, y, z], …] } with as many of each. At a point x of the
// plane its weights are p = softmax(keys · x + biases), its output y = Σ pᵢ vᵢ.

const ULP = Number.EPSILON;

// Twice the area of a triangle, with its sign; 0 where rounding could have made it.
function areaOf(a, b, c) {
  const [left, right] = [(b[0] - a[0]) * (c[1] - a[1]), (b[1] - a[1]) * (c[0] - a[0])];
  const area = left - right;
  return Math.abs(area) > 4 * ULP * (Math.abs(left) + Math.abs(right)) ? area : 0;
}

// The affine dependency of four keys: Σ cᵢ aᵢ = 0 and Σ cᵢ = 0.
const dependencyOf = ([a, b, c, d]) => [areaOf(b, c, d), -areaOf(a, c, d), areaOf(a, b, d), -areaOf(a, b, c)];

// The sign of K on the whole chart: { sign, key: inside the triangle of the others, or off their line }.
// Where all four lie on one line the outputs fill a curve, no surface: then `sign` is null.
function signOfKeys(keys) {
  const dependency = dependencyOf(keys);
  const off = dependency.map((c, i) => (c === 0 ? i : -1)).filter(i => i >= 0);
  if (off.length === 4) return { sign: null };
  if (off.length) return { sign: 0, key: off.length > 1 ? null : off[0] };
  const negative = dependency.filter(c => c < 0).length;
  if (negative === 2) return { sign: -1 };
  return { sign: 1, key: dependency.findIndex(c => (c < 0) === (negative === 1)) };
}

// Whether four values lie in one plane, as far as rounding lets us tell.
function isCoplanar(values) {
  const [a, b, c] = [0, 1, 2].map(i => minus(values[i], values[3]));
  return Math.abs(dot(a, cross(b, c))) <= 16 * ULP * lengthOf(a) * lengthOf(b) * lengthOf(c);
}

function weightsAt({ keys, biases }, u, v) {
  const scores = keys.map(([x, y], i) => x * u + y * v + biases[i]);
  const largest = Math.max(...scores);
  const powers = scores.map(score => Math.exp(score - largest));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map(power => power / sum);
}

// The output with its derivatives, which are moments of the weights: y_u = Σ pᵢ (aᵢ − mean) vᵢ, and so on.
function outputAt(model, u, v) {
  const weights = weightsAt(model, u, v);
  const [y, yu, yv, uu, uv, vv] = Array.from({ length: 6 }, () => [0, 0, 0]);
  let [meanU, meanV, cuu, cuv, cvv] = [0, 0, 0, 0, 0];
  weights.forEach((p, i) => { meanU += p * model.keys[i][0]; meanV += p * model.keys[i][1]; });
  const from = model.keys.map(([x, z]) => [x - meanU, z - meanV]);
  weights.forEach((p, i) => {
    const [a, b] = from[i];
    cuu += p * a * a; cuv += p * a * b; cvv += p * b * b;
  });
  weights.forEach((p, i) => {
    const [a, b] = from[i];
    for (let k = 0; k < 3; k += 1) {
      const part = p * model.values[i][k];
      y[k] += part; yu[k] += part * a; yv[k] += part * b;
      uu[k] += part * (a * a - cuu); uv[k] += part * (a * b - cuv); vv[k] += part * (b * b - cvv);
    }
  });
  return { weights, y, yu, yv, uu, uv, vv };
}

// K by the Gauss equation, and a bound on its rounding error; without a tangent plane K is NaN.
function curvatureOf(model, { yu, yv, uu, uv, vv }) {
  const normal = cross(yu, yv);
  const squared = dot(normal, normal);
  if (!(squared > 0)) return { K: NaN, error: Infinity };
  const [L, M, N] = [uu, uv, vv].map(second => dot(second, normal));
  // Errors of first derivatives, of second ones, of the normal, of L, M, N and of LN − M².
  const key = Math.max(...model.keys.map(([x, y]) => Math.hypot(x, y)));
  const value = Math.max(...model.values.map(lengthOf));
  const [e1, e2] = [8 * ULP * key * value, 8 * ULP * key * key * value];
  const e3 = e1 * (lengthOf(yu) + lengthOf(yv)) + 8 * ULP * lengthOf(yu) * lengthOf(yv);
  const e = second => e2 * Math.sqrt(squared) + lengthOf(second) * e3;
  const [eL, eM, eN] = [uu, uv, vv].map(e);
  const error = eL * Math.abs(N) + eN * Math.abs(L) + eL * eN + eM * (2 * Math.abs(M) + eM)
    + 8 * ULP * (Math.abs(L * N) + M * M);
  const K = (L * N - M * M) / squared ** 2;
  return { K, error: error / squared ** 2 + 8 * Math.abs(K) * e3 / Math.sqrt(squared) };
}

// The closed form of K for four keys, with its parts: K = p₄² w₁w₂w₃ / ((p₁p₂p₃)² det G (mᵀ G⁻¹ m)²).
function closedForm({ keys, values }, weights) {
  const [a, b, c, d] = keys;
  const area = areaOf(a, b, c);
  const w = [areaOf(d, b, c), areaOf(a, d, c), areaOf(a, b, d)].map(part => part / area);
  const edges = [0, 1, 2].map(i => minus(values[i], values[3]));
  const volume = dot(edges[0], cross(edges[1], edges[2]));
  const m = w.map((share, i) => 1 + weights[3] * share / weights[i]);
  // G = E Eᵀ for the edges E, so mᵀ G⁻¹ m = |E⁻¹ m|², and E⁻¹ m is a sum of cross products.
  const solved = [0, 1, 2].map(i => cross(edges[(i + 1) % 3], edges[(i + 2) % 3]))
    .reduce((sum, across, i) => plus(sum, across, m[i] / volume), [0, 0, 0]);
  const [p1, p2, p3, p4] = weights;
  return p4 ** 2 * w[0] * w[1] * w[2] / ((p1 * p2 * p3) ** 2 * volume ** 2 * dot(solved, solved) ** 2);
}
