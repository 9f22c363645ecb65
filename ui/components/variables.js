// Variables in the texts of a component in italics, as in formulas; the texts stay as they are.

// A letter by itself, with or without an index, but neither a unit after a number nor a possessive.
const VARIABLE = /(?<=^|[\s(|∫·/−])(?<!\d\s)(dA|p(?=\()|[DHKLUWYbdgknstuvwxyαγελρτ])(?![\w’'-])/u;
const AS_IT_IS = '.gc-var, title, [translate=no]';

function typeset(node) {
  const texts = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const found = VARIABLE.exec(text.data);
    if (!found || text.parentElement.closest(AS_IT_IS)) continue;
    const letter = text.splitText(found.index);
    letter.splitText(found[0].length);
    const variable = text.parentElement instanceof SVGElement ? make('tspan') : element('var');
    variable.setAttribute('class', 'gc-var');
    letter.replaceWith(variable);
    variable.append(letter);
  }
}

function keepTypeset(root) {
  typeset(root);
  new MutationObserver((changes, observer) => {
    new Set(changes.map(({ target }) => target)).forEach(typeset);
    observer.takeRecords(); // of what was typeset
  }).observe(root, { childList: true, subtree: true });
}
