// Ungated attention over fixed values, and what its keys decide: gating_core/theory/keys.py.
//
// A model is { keys: [[x, y], …], biases, values: [[x, y, z], …] } with as many of each. At a
// point x of the plane its weights are p = softmax(keys · x + biases), its output y = Σ pᵢ vᵢ.

const ULP = Number.EPSILON;

// Twice the area of a triangle, with its sign; 0 where rounding could have made it.
function areaOf(a, b, c) {
  const [left, right] = [(b[0] - a[0]) * (c[1] - a[1]), (b[1] - a[1]) * (c[0] - a[0])];
  const area = left - right;
  return Math.abs(area) > 4 * ULP * (Math.abs(left) + Math.abs(right)) ? area : 0;
}

// The affine dependency of four keys: Σ cᵢ aᵢ = 0 and Σ cᵢ = 0.
const dependencyOf = ([a, b, c, d]) =>
  [areaOf(b, c, d), -areaOf(a, c, d), areaOf(a, b, d), -areaOf(a, b, c)];

// The sign of K on the whole chart: { sign, key: inside the triangle of the others, or off their
// line }. Where all four lie on one line the outputs fill a curve, no surface: then `sign` is
// null.
function signOfKeys(keys) {
  const dependency = dependencyOf(keys);
  const off = [0, 1, 2, 3].filter(i => dependency[i] === 0);
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

// The output with its derivatives, which are moments of the weights: y_u = Σ pᵢ (aᵢ − mean) vᵢ,
// and so on.
function outputAt(model, u, v) {
  const weights = weightsAt(model, u, v);
  const meanOf = numbers => numbers.reduce((sum, x, i) => sum + weights[i] * x, 0);
  const mean = [0, 1].map(k => meanOf(model.keys.map(key => key[k])));
  const from = model.keys.map(key => [key[0] - mean[0], key[1] - mean[1]]);
  const momentAt = ([k, l]) => meanOf(from.map(a => a[k] * a[l]));
  const [cuu, cuv, cvv] = [[0, 0], [0, 1], [1, 1]].map(momentAt);
  const momentOf = factor => {
    const out = [0, 0, 0];
    from.forEach(([a, b], i) => {
      const share = weights[i] * factor(a, b);
      for (let k = 0; k < 3; k += 1) out[k] += share * model.values[i][k];
    });
    return out;
  };
  return {
    y: momentOf(() => 1),
    yu: momentOf(a => a),
    yv: momentOf((a, b) => b),
    uu: momentOf(a => a * a - cuu),
    uv: momentOf((a, b) => a * b - cuv),
    vv: momentOf((a, b) => b * b - cvv),
  };
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
