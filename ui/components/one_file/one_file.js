// A page in one file: the arrays stand in the file itself, compressed. `mount` is the component.

async function unpacked(id) {
  const text = document.getElementById(id).textContent;
  const bytes = Uint8Array.from(atob(text), character => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip')));
}

const told = document.getElementById('header').textContent;
const address = new URL(JSON.parse(told).source, document.baseURI).href;
loads.set(address, unpacked('arrays').then(file => file.arrayBuffer()));

const wanted = matchMedia('(prefers-color-scheme: dark)');
const schemeButton = document.querySelector('.gc-file-scheme');

// In the colours that are chosen now, which the pictures are painted in.
function drawIn(scheme) {
  document.documentElement.dataset.scheme = scheme;
  schemeButton.textContent = scheme === 'dark' ? 'Light colours' : 'Dark colours';
  const data = new TextEncoder().encode(told);
  mount({ data, parentElement: document.body, setTriggerValue: () => {} });
}

const isDarkNow = () => document.documentElement.dataset.scheme === 'dark';
schemeButton.onclick = () => drawIn(isDarkNow() ? 'light' : 'dark');
wanted.onchange = () => drawIn(wanted.matches ? 'dark' : 'light');
drawIn(wanted.matches ? 'dark' : 'light');
