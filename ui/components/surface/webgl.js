// Paints a scene (see view.js) by WebGL 2; null where the browser has none.

const CORNERS = new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]);

function webglPainter(canvas) {
  const gl = canvas.getContext('webgl2', { antialias: true, alpha: true, stencil: true });
  if (!gl) return null;
  let parts;
  const build = () => { parts = webglParts(gl); };
  build();
  canvas.addEventListener('webglcontextlost', event => event.preventDefault());
  canvas.addEventListener('webglcontextrestored', build);
  return {
    kind: 'webgl',
    paint: (scene, lens) => { if (!gl.isContextLost()) paintByWebgl(gl, parts, scene, lens); },
    release: () => gl.getExtension('WEBGL_lose_context')?.loseContext(),
  };
}

function webglParts(gl) {
  gl.enable(gl.DEPTH_TEST);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  const program = (vertex, pixel) => {
    const linked = gl.createProgram();
    for (const [type, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, pixel]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(linked, shader);
    }
    gl.linkProgram(linked);
    if (!gl.getProgramParameter(linked, gl.LINK_STATUS) && !gl.isContextLost()) {
      throw new Error(gl.getProgramInfoLog(linked));
    }
    const count = gl.getProgramParameter(linked, gl.ACTIVE_UNIFORMS) ?? 0;
    const names = Array.from({ length: count }, (_, i) => gl.getActiveUniform(linked, i).name);
    const placeOf = name => [name, gl.getUniformLocation(linked, name)];
    return { linked, at: Object.fromEntries(names.map(placeOf)) };
  };
  return {
    mesh: program(MESH_VERTEX, MESH_PIXEL),
    flat: program(FLAT_VERTEX, FLAT_PIXEL),
    points: program(POINT_VERTEX, POINT_PIXEL),
    lines: program(LINE_VERTEX, FLAT_PIXEL),
    buffers: [0, 1, 2, 3].map(() => gl.createBuffer()),
    index: gl.createBuffer(),
  };
}

function paintByWebgl(gl, parts, scene, lens) {
  gl.viewport(0, 0, gl.canvas.width, gl.canvas.height);
  gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
  const use = ({ linked, at }) => {
    gl.useProgram(linked);
    gl.uniformMatrix4fv(at.lens, false, lens.matrix);
    return at;
  };
  // Hands over the attributes, { values, size, each: whether one belongs to every instance }, in
  // order.
  const feed = (...attributes) => {
    for (let i = 0; i < 4; i += 1) gl.disableVertexAttribArray(i);
    attributes.forEach(({ values, size, each = 0 }, i) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, parts.buffers[i]);
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
      gl.enableVertexAttribArray(i);
      gl.vertexAttribPointer(i, size, gl.FLOAT, false, 0, 0);
      gl.vertexAttribDivisor(i, each);
    });
  };
  const flat = (corners, colour) => {
    const at = use(parts.flat);
    gl.uniform4fv(at.tint, colour);
    gl.uniform1i(at.falls, 0);
    feed({ values: new Float32Array(corners.flat()), size: 3 });
    gl.depthMask(false);
    gl.drawArrays(gl.TRIANGLE_FAN, 0, corners.length);
    gl.depthMask(true);
  };
  for (const part of scene.ground ?? []) flat(part.corners, part.colour);
  paintMesh(gl, parts, scene, lens, use, feed);
  if (scene.points) {
    const at = use(parts.points);
    gl.uniform1f(at.size, scene.points.size * lens.ratio);
    feed({ values: scene.points.places, size: 3 }, { values: scene.points.colours, size: 3 });
    gl.drawArrays(gl.POINTS, 0, scene.points.places.length / 3);
  }
  const at = use(parts.lines);
  gl.uniform2f(at.window, lens.width, lens.height);
  gl.depthMask(false);
  for (const { segments, wide, colour, alpha = 1, hidden = 0, near = 0.001 } of scene.lines ?? []) {
    const ends = [0, 3].map(from => Float32Array.from({ length: segments.length / 2 },
      (_, i) => segments[6 * Math.floor(i / 3) + from + i % 3]));
    feed({ values: CORNERS, size: 2 }, ...ends.map(values => ({ values, size: 3, each: 1 })));
    gl.uniform1f(at.wide, wide);
    gl.uniform1f(at.near, near);
    for (const [order, opacity] of [[gl.GREATER, hidden], [gl.LESS, alpha]]) {
      gl.depthFunc(order);
      gl.uniform4fv(at.tint, [...colour, opacity]);
      if (opacity > 0) gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, segments.length / 6);
    }
  }
  gl.depthMask(true);
  for (const sheet of scene.sheets ?? []) flat(sheet.corners, sheet.colour);
}

function paintMesh(gl, parts, scene, lens, use, feed) {
  const { size, places, normals, colours, field, cells } = scene;
  gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, parts.index);
  const isOpen = places.some(Number.isNaN);
  if (parts.size !== size || parts.cells !== cells || isOpen || parts.isOpen) {
    Object.assign(parts, { size, cells, isOpen, grid: gridOf(size, cells) });
    const index = [];
    eachTriangle(size, (...corners) => {
      if (!corners.some(i => Number.isNaN(places[3 * i]))) index.push(...corners);
    });
    parts.triangles = index.length;
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, new Uint32Array(index), gl.STATIC_DRAW);
  }
  if (scene.shadow) { // once at every pixel, however many layers of the surface throw it
    const at = use(parts.flat);
    gl.uniform4fv(at.tint, [0, 0, 0, scene.shadow]);
    gl.uniform1i(at.falls, 1);
    gl.uniform1f(at.ground, scene.ground[0].corners[0][2] - 0.002);
    feed({ values: places, size: 3 });
    gl.enable(gl.STENCIL_TEST);
    gl.stencilFunc(gl.EQUAL, 0, 255);
    gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
    gl.depthMask(false);
    gl.drawElements(gl.TRIANGLES, parts.triangles, gl.UNSIGNED_INT, 0);
    gl.depthMask(true);
    gl.disable(gl.STENCIL_TEST);
  }
  const at = use(parts.mesh);
  gl.uniform3fv(at.eye, lens.eye);
  gl.uniform4fv(at.light, lightOf(scene, lens));
  gl.uniform1f(at.ratio, lens.ratio);
  gl.uniform1i(at.classed, field ? 1 : 0);
  if (field) {
    gl.uniform3fv(at.below, scene.classes[0]);
    gl.uniform3fv(at.above, scene.classes[1]);
  }
  const vertices = [places, normals].map(values => ({ values, size: 3 }));
  const paint = field ? { values: Float32Array.from(field), size: 1 } : { values: colours, size: 3 };
  feed(...vertices, paint, { values: parts.grid, size: 2 });
  gl.drawElements(gl.TRIANGLES, parts.triangles, gl.UNSIGNED_INT, 0);
}

// Where each vertex stands among the grid lines, which are at whole numbers; without `cells`, on
// none.
const gridOf = (size, cells) => Float32Array.from({ length: 2 * size * size }, (_, i) => {
  if (!cells) return 0.5;
  const vertex = Math.floor(i / 2);
  return (i % 2 ? Math.floor(vertex / size) : vertex % size) * cells / (size - 1);
});
