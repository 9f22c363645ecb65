"""Scripts for a browser: functions of a component, called without its page; no WebGL."""

from typing import Any

from playwright.sync_api import Page

from ui.components import source

NO_WEBGL = """(() => {
  const { getContext } = HTMLCanvasElement.prototype;
  HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
    return /webgl/.test(kind) ? null : getContext.call(this, kind, ...rest);
  };
})()"""
# Counts what the page sends to its server, in `window.testSent`.
COUNT_SENT = """() => {
  window.testSent = 0;
  const { send } = WebSocket.prototype;
  WebSocket.prototype.send = function (...x) { window.testSent += 1; return send.apply(this, x); };
}"""


def in_browser(page: Page, component: str, function: str, argument: Any) -> Any:
    """Return what a ``function`` of JavaScript, which sees all names of the script, makes of it."""
    script = source.script(component).replace("export default function (", "function exported(")
    return page.evaluate(f"argument => {{ {script}\nreturn ({function})(argument); }}", argument)
