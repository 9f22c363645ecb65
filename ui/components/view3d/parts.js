// How does a scene treat its parts? Some are seen through, drawn beneath others, or forget.

// What Plotly's WebGL draws in a scene; nothing of a plane.
const partsOf = div => div._fullLayout?.scene?._scene?.glplot.objects ?? [];

// What answers no hover (plane, lines, data) must not hide the surface from the pointer either.
function seeThrough(div) {
  partsOf(div).filter(part => part._trace?.data.hoverinfo === 'skip')
    .forEach(part => { part.drawPick = () => {}; });
}

// What lies in one plane with a sheet is drawn a little behind it, or they would shine through each
// other in specks.
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

// What a mesh says of a triangle that it has no more: nothing. Plotly answers the pointer from the
// last picture, also while the next one, of fewer triangles, is not drawn yet, and would throw.
function forgetful(div) {
  for (const mesh of partsOf(div).filter(part => part.cells)) {
    mesh.pick = function pick(seen) {
      const known = seen && this.cells[seen.value[0] + (seen.value[1] << 8) + (seen.value[2] << 16)];
      return known ? Object.getPrototypeOf(this).pick.call(this, seen) : null;
    };
  }
}
