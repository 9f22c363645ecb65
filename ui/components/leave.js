// Posts to a path of this server in this tab, once: Streamlit would open a link in another one.
const isOurs = ({ origin }) => origin === location.origin;

export default function ({ data: [{ path }] }) {
  const address = new URL(path, location.href);
  if (!isOurs(address) || window.__gcLeft === path) return;
  window.__gcLeft = path; // Streamlit may draw this again meanwhile
  const form = Object.assign(document.createElement('form'), { method: 'post', action: address });
  document.body.append(form);
  form.submit();
}
