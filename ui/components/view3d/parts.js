// Corrections of the parts that Plotly's WebGL draws in a scene.

// The parts of a scene; none of a plane.
const partsOf = div => div._fullLayout?.scene?._scene?.glplot.objects ?? [];

// Parts without hover (plane, lines, data) must not hide the surface from the pointer.
function seeThrough(div) {
  partsOf(div).filter(part => part._trace?.data.hoverinfo === 'skip')
    .forEach(part => { part.drawPick = () => {}; });
}

// Parts in the plane of a sheet are drawn a little behind it: otherwise specks of both would show.
function putUnder(div) {
  for (const part of partsOf(div).filter(each => each._trace?.data.meta === 'under')) {
    for (const name of ['draw', 'drawTransparent']) {
      const original = Object.getPrototypeOf(part)[name];
      part[name] = function under(...rest) {
        const { gl } = this;
        gl.enable(gl.POLYGON_OFFSET_FILL);
        gl.polygonOffset(1, 2);
        original.apply(this, rest);
        gl.disable(gl.POLYGON_OFFSET_FILL);
      };
    }
  }
}

// Ignores hits of triangles that a mesh no longer has. Plotly finds hits in the last picture, also while
// the next one, of fewer triangles, is not drawn yet, and would throw.
function ignoreGone(div) {
  for (const mesh of partsOf(div).filter(part => part.cells)) {
    mesh.pick = function pick(seen) {
      const known = seen && this.cells[seen.value[0] + (seen.value[1] << 8) + (seen.value[2] << 16)];
      return known ? Object.getPrototypeOf(this).pick.call(this, seen) : null;
    };
  }
}
