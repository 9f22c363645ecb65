// The programs of webgl.js, in the language of its shaders.

const MESH_VERTEX = `#version 300 es
layout(location=0) in vec3 place; layout(location=1) in vec3 normal;
layout(location=2) in vec3 colour; layout(location=3) in vec2 grid;
uniform mat4 lens;
out vec3 P, N, C; out vec2 G;
void main() { P = place; N = normal; C = colour; G = grid; gl_Position = lens * vec4(place, 1.); }`;
// With classes, C.x is a field whose sign decides at every pixel, exactly where a plane cuts.
const MESH_PIXEL = `#version 300 es
precision highp float;
in vec3 P, N, C; in vec2 G;
uniform vec3 eye, below, above; uniform vec4 light; uniform bool classed; uniform float ratio;
out vec4 pixel;
void main() {
  vec3 view = normalize(eye - P), n = normalize(N), c = C;
  if (dot(n, view) < 0.) n = -n;
  if (classed) {
    float f = C.x;
    c = mix(below, above, smoothstep(-.7, .7, f / max(fwidth(f), 1e-6)));
    c = mix(vec3(.80, .79, .78), c, .62 + .38 * tanh(2. * abs(f)));
  }
  float lit = .5 + .5 * dot(n, light.xyz);
  float shine = pow(max(dot(n, normalize(light.xyz + view)), 0.), 42.);
  float rim = pow(1. - max(dot(n, view), 0.), 3.);
  c = c * mix(light.w, 1.16, lit * lit) + .16 * shine - .10 * rim;
  vec2 away = abs(fract(G + .5) - .5) / max(fwidth(G), 1e-5) / ratio;
  float dark = .7 - .45 * smoothstep(.2, .5, dot(c, vec3(.3, .59, .11)));  // more on dark colours
  c *= 1. - dark * (1. - smoothstep(.4, 1.15, min(away.x, away.y)));
  pixel = vec4(c, 1.);
}`;
const FLAT_VERTEX = `#version 300 es
layout(location=0) in vec3 place;
uniform mat4 lens; uniform float ground; uniform bool falls;
void main() { gl_Position = lens * vec4(place.xy, falls ? ground : place.z, 1.); }`;
const FLAT_PIXEL = `#version 300 es
precision highp float;
uniform vec4 tint;
out vec4 pixel;
void main() { pixel = vec4(tint.rgb * tint.a, tint.a); }`;
const POINT_VERTEX = `#version 300 es
layout(location=0) in vec3 place; layout(location=1) in vec3 colour;
uniform mat4 lens; uniform float size;
out vec3 C;
void main() {
  C = colour;
  gl_Position = lens * vec4(place, 1.);
  gl_Position.z -= .0016 * gl_Position.w;
  gl_PointSize = size;
}`;
const POINT_PIXEL = `#version 300 es
precision highp float;
in vec3 C;
out vec4 pixel;
void main() {
  float r = length(gl_PointCoord * 2. - 1.), a = 1. - smoothstep(.85, 1., r);
  if (a < .02) discard;
  pixel = vec4(mix(C, vec3(1.), smoothstep(.62, .75, r)) * a, a);
}`;
// A line is a rectangle as wide as `wide` pixels, turned along the segment on the screen.
const LINE_VERTEX = `#version 300 es
layout(location=0) in vec2 corner; layout(location=1) in vec3 start; layout(location=2) in vec3 end;
uniform mat4 lens; uniform vec2 window; uniform float wide, near;
void main() {
  vec4 a = lens * vec4(start, 1.), b = lens * vec4(end, 1.), c = corner.x < 0. ? a : b;
  vec2 along = (b.xy / b.w - a.xy / a.w) * window;
  along /= max(length(along), 1e-6);
  c.xy += (vec2(-along.y, along.x) * corner.y + along * corner.x * .5) * wide / window * c.w;
  c.z -= near * c.w;
  gl_Position = c;
}`;
