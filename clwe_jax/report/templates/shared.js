// What all pages share: copying, files, and elements made of text alone.
const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (name === 'onclick' || name === 'oninput') element[name] = value;
    else if (value !== null && value !== false) element.setAttribute(name, value);
  element.append(...children.filter(child => child !== null && child !== ''));
  return element;
};
// A word or a sentence of a language: the browser chooses its direction and its fonts.
const spoken = (text, language, attributes = {}, tag = 'span') =>
  make(tag, {lang: language, dir: 'auto', ...attributes}, text);
const copyText = async text => {
  try { await navigator.clipboard.writeText(text); } catch {
    const area = make('textarea', {style: 'position:fixed;top:0;opacity:0'});
    document.body.append(area);
    area.value = text;
    area.select();
    document.execCommand('copy');
    area.remove();
  }
};
const saveFile = (name, text, type = 'text/plain') => {
  const address = URL.createObjectURL(new Blob([text], {type: `${type};charset=utf-8`}));
  const link = make('a', {href: address, download: name});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
};
