// Asks the vectors of the page. Vectors are int8 rows; a cosine needs no scale, a sentence needs the
// words' lengths. The numbers are those of Model.translate, neighbours, encode and align.
const DATA = JSON.parse(document.getElementById('data').textContent);
const $ = id => document.getElementById(id);
const K = 10;  // words that are shown, and nearest words of which CSLS takes the mean
const MOST_ALIKE = 6;
const bytesOf = text => Uint8Array.from(atob(text), x => x.charCodeAt(0));
const floatsOf = text => new Float32Array(bytesOf(text).buffer);
const nameOf = language => DATA.names[DATA.languages.indexOf(language)];
const huesOf = language => (215 + DATA.languages.indexOf(language) * 137.5) % 360;
const ALIKE = new Map(Object.entries(DATA.alike));
const keyOf = text => {
  const plain = text.normalize('NFKC').replace(/[\u00ad\u200b-\u200f\u2060\ufeff]/g, '')
    .replace(/\u0e4d([\u0e48-\u0e4b]?)[\u0e32\u0e33]/g, '$1\u0e33')  // Thai and Lao: SARA AM is one character
    .replace(/\u0ecd([\u0ec8-\u0ecb]?)[\u0eb2\u0eb3]/g, '$1\u0eb3');
  const same = [...plain].map(x => ALIKE.get(x) || x).join('').replace(/\u02bc/g, "'");
  return DATA.lower ? same.replace(/\u0130/g, 'i').toLowerCase() : same;
};
const [SHORT_COLUMNS, SHORT_SHARE] = DATA.shortened;
const HAS_LETTERS = /[\p{L}\p{N}]/u;
const SPACES = {};
for (const language of DATA.languages) {
  const index = new Map(Object.entries(DATA.keys[language]));
  DATA.words[language].forEach((word, row) => { if (!index.has(word)) index.set(word, row); });
  SPACES[language] = {
    words: DATA.words[language],
    index,
    rows: new Int8Array(bytesOf(DATA.vectors[language]).buffer),
    lengths: floatsOf(DATA.lengths[language]),
    short: new Set(DATA.short[language]),
    signs: DATA.words[language].flatMap((word, row) => HAS_LETTERS.test(word) ? [] : [row]),
    longest: Math.max(1, ...DATA.words[language].map(word => word.split(' ').length)),
  };
}
const placeOf = (word, language) => {  // of a word as it is written, or by its key
  const {index} = SPACES[language];
  return index.get(word) ?? index.get(keyOf(word));
};
const NUMBERS = Object.fromEntries(
  Object.entries(DATA.numbers).map(([pair, text]) => [pair, floatsOf(text)]));

// Vectors, float32.
const unit = x => {
  let sum = 0;
  for (const value of x) sum += value * value;
  const length = Math.sqrt(sum);
  return length ? x.map(value => value / length) : x;
};
const rowOf = (language, row) => {  // of unit length
  const {rows} = SPACES[language];
  return unit(Float32Array.from(rows.subarray(row * DATA.dim, (row + 1) * DATA.dim)));
};
const asWord = (language, row) => {  // by which single words are compared
  const x = rowOf(language, row);
  if (!SPACES[language].short.has(row)) return x;
  for (let i = 0; i < SHORT_COLUMNS; i++) x[i] *= SHORT_SHARE;
  return unit(x);
};
const cosines = (query, language) => {  // of a unit vector with all words, as words
  const {words, rows, short} = SPACES[language];
  const found = new Float32Array(words.length), dim = DATA.dim;
  for (let row = 0, at = 0; row < words.length; row++, at += dim) {
    let product = 0, squares = 0;
    const share = short.has(row) ? SHORT_SHARE : 1;
    for (let i = 0; i < dim; i++) {
      const value = i < SHORT_COLUMNS ? share * rows[at + i] : rows[at + i];
      product += value * query[i];
      squares += value * value;
    }
    found[row] = squares ? product / Math.sqrt(squares) : 0;
  }
  return found;
};
const best = (scores, count) => Array.from(scores.keys()).sort((a, b) => scores[b] - scores[a] || a - b)
  .slice(0, count);
const meanOfBest = scores => {
  const top = Float32Array.from(scores).sort().slice(-K);
  return top.length ? top.reduce((a, b) => a + b, 0) / top.length : 0;
};
const paired = (table, language, row, to) =>
  new Set((DATA[table][`${language}-${to}`] || []).filter(x => x[0] === row).map(x => x[1]));

// The words nearest to a word: entries of the dictionary first, by cosine; no rejected pair, and no
// punctuation beside a word.
const nearest = (word, language, to, method, count = K) => {
  const own = placeOf(word, language);
  const near = cosines(asWord(language, own), to);
  let scores = near;
  if (method === 'csls') {
    const mean = meanOfBest(near), numbers = NUMBERS[`${language}-${to}`];
    scores = near.map((x, row) => 2 * x - numbers[row] - mean);
  }
  const entries = paired('known', language, own, to);
  const never = paired('rejected', language, own, to);
  if (to === language) never.add(own);
  if (HAS_LETTERS.test(word)) for (const row of SPACES[to].signs) never.add(row);
  const known = [...entries].sort((a, b) => near[b] - near[a]);
  const others = best(scores, count + entries.size + never.size).filter(x => !entries.has(x));
  return [...known, ...others].filter(row => !never.has(row)).slice(0, count).map(row => ({
    word: SPACES[to].words[row], row, language: to, score: scores[row], entry: entries.has(row)}));
};

// The words of a text: those with vectors, the longest first; runs of other letters are one word.
const PIECE = /[\p{L}\p{M}\p{N}]+(?:['·][\p{L}\p{M}\p{N}]+)*|[^\s\p{L}\p{M}\p{N}]/gu;
const UNSPACED = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/u;
// l'eau is three words in French, and king's in English.
const apart = (piece, language) => {
  const [before, after] = DATA.clitics[language];
  const first = before && piece.match(new RegExp(`^(${before})'(.+)$`, 'iu'));
  if (first) return [first[1], "'", ...apart(first[2], language)];
  const last = after && piece.match(new RegExp(`^(.+)'(${after})$`, 'iu'));
  return last ? [...apart(last[1], language), "'", last[2]] : [piece];
};
const cut = (text, language) => {
  const {index, longest} = SPACES[language];
  const pieces = (keyOf(text).match(PIECE) || []).flatMap(piece => {
    if (index.has(piece)) return [piece];
    if (!UNSPACED.test(piece)) return apart(piece, language);
    const letters = [...piece], parts = [];
    for (let start = 0, end; start < letters.length; start = end) {
      for (end = letters.length; end > start + 1; end--)
        if (index.has(letters.slice(start, end).join(''))) break;
      parts.push(letters.slice(start, end).join(''));
    }
    return parts;
  });
  const words = [];
  for (let start = 0, end; start < pieces.length; start = end) {
    for (end = Math.min(pieces.length, start + longest); end > start + 1; end--)
      if (index.has(pieces.slice(start, end).join(' '))) break;
    words.push(pieces.slice(start, end).join(' '));
  }
  return words;
};
const weightOf = (language, row) => {
  const [total, counts] = DATA.counts[language] || [0, []];
  return total > 1 ? Math.pow(Math.log(total / Math.max(1, counts[row])) / Math.log(total), 1.5) : 1;
};
const encode = (text, language) => {  // the mean of the words' vectors, weighted by their information
  const {index, lengths} = SPACES[language];
  const sum = new Float32Array(DATA.dim);
  let total = 0;
  for (const word of cut(text, language)) {
    const row = index.get(word);
    if (row === undefined) continue;
    const vector = rowOf(language, row), weight = weightOf(language, row);
    for (let i = 0; i < sum.length; i++) sum[i] += vector[i] * lengths[row] * weight;
    total += weight;
  }
  return total ? sum.map(value => value / total) : sum;
};
const dot = (x, y) => x.reduce((sum, value, i) => sum + value * y[i], 0);
const similarity = (a, b, lang, to) => dot(unit(encode(a, lang)), unit(encode(b, to)));
// The words of two sentences that are each other's nearest: [place, place].
const align = (source, target, lang, to) => {
  const sides = [[source, lang], [target, to]].map(([text, language]) =>
    cut(text, language).map(word => {
      const row = SPACES[language].index.get(word);
      return row === undefined ? null : rowOf(language, row);
    }));
  const table = sides[0].map(x => sides[1].map(y => x && y ? dot(x, y) : 0));
  const argmax = values => values.indexOf(Math.max(...values));
  const back = sides[1].map((_, j) => argmax(table.map(row => row[j])));
  return table.map((row, i) => [i, argmax(row)])
    .filter(([i, j]) => j >= 0 && back[j] === i && sides[0][i] && sides[1][j]);
};
// Words spelled alike, by their pairs of letters.
const bigrams = word => new Set([...`<${word}>`].map((x, i, all) => x + (all[i + 1] || '')));
const alike = (word, language) => {
  const own = bigrams(word);
  const {words} = SPACES[language];
  const scores = words.map(other => {
    const theirs = bigrams(keyOf(other));
    return [...own].filter(x => theirs.has(x)).length / (own.size + theirs.size);
  });
  return best(scores, MOST_ALIKE).map(row => words[row]);
};
// The first two principal components of vectors.
const project = vectors => {
  const mean = vectors[0].map((_, i) => vectors.reduce((sum, x) => sum + x[i], 0) / vectors.length);
  const rows = vectors.map(x => x.map((value, i) => value - mean[i]));
  const gram = rows.map(x => rows.map(y => dot(x, y)));
  const axes = [];
  for (const axis of [0, 1]) {
    let v = rows.map((_, i) => Math.sin(1 + i * (axis + 1)));
    let length = 0;
    for (let round = 0; round < 200; round++) {
      for (const [u] of axes) { const shared = dot(u, v); v = v.map((x, i) => x - shared * u[i]); }
      v = gram.map(row => dot(row, v));
      length = Math.sqrt(dot(v, v));
      if (!length) break;
      v = v.map(x => x / length);
    }
    axes.push([v, Math.sqrt(length)]);
  }
  return rows.map((_, i) => axes.map(([v, scale]) => v[i] * scale));
};

// What the page shows.
const said = (word, language, text = null) => spoken(text ?? word, language,
  {class: 'word', onclick: () => ask(word, language)}, 'a');
const column = (language, title, found) => make('section', {}, make('h3', {}, title),
  make('ol', {}, ...found.map(x => make('li', {},
    make('span', {class: x.entry ? 'entry' : null}, said(x.word, language)),
    make('span', {class: 'n'}, x.score.toFixed(3))))));
const ask = (text, language) => {
  $('text').value = text;
  $('language').value = language;
  const answer = $('answer');
  const {index, words} = SPACES[language];
  const known = placeOf(text.trim(), language);
  const pieces = cut(text, language);
  let shown = [], center = null;
  answer.replaceChildren();
  if (known !== undefined) {
    for (const to of DATA.languages) {
      const found = nearest(text.trim(), language, to, to === language ? 'cosine' : 'csls');
      answer.append(column(to, to === language ? `Near in ${nameOf(to)}` : nameOf(to), found));
      shown.push(...found);
    }
    shown.unshift({word: words[known], row: known, language});
  } else if (pieces.filter(x => index.has(x)).length) {
    center = unit(encode(text, language));
    answer.append(make('p', {class: 'soft'}, 'The sentence lies near these words. Its words: ',
      ...pieces.flatMap(x => [index.has(x) ? said(x, language) : spoken(x, language, {class: 'n'}), ' '])));
    for (const to of DATA.languages) {
      const scores = cosines(center, to);
      const found = best(scores, K).map(row => ({word: SPACES[to].words[row], row, language: to,
        score: scores[row]}));
      answer.append(column(to, nameOf(to), found));
      shown.push(...found);
    }
  } else {
    answer.append(make('p', {}, `This page has no such word of ${nameOf(language)}. Spelled alike: `,
      ...alike(keyOf(text), language).flatMap(x => [said(x, language), '  '])));
  }
  draw(shown, center);
};
const SVG = 'http://www.w3.org/2000/svg';
const drawn = (tag, attributes, text = '') => {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
};
const draw = (shown, center) => {
  const figure = $('map');
  figure.querySelector('svg')?.remove();
  figure.hidden = shown.length < 3;
  if (figure.hidden) return;
  const vectors = shown.map(x => asWord(x.language, x.row));
  if (center) { vectors.unshift(center); shown = [{word: '●', language: 'en'}, ...shown]; }
  const points = project(vectors);
  const width = Math.max(320, figure.clientWidth), height = Math.round(Math.min(520, width * .7));
  const scale = axis => {
    const values = points.map(p => p[axis]), low = Math.min(...values), high = Math.max(...values);
    const [from, to] = axis ? [height - 20, 20] : [20, width - 110];
    return x => from + (high > low ? (x - low) / (high - low) : .5) * (to - from);
  };
  const [x, y] = [scale(0), scale(1)];
  const svg = drawn('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img'});
  points.forEach((p, i) => {
    const colour = `hsl(${huesOf(shown[i].language)} 60% 50%)`;
    svg.append(drawn('circle', {cx: x(p[0]), cy: y(p[1]), r: i ? 3 : 6, fill: colour}),
      drawn('text', {x: x(p[0]) + 7, y: y(p[1]) + 4, fill: colour, 'font-size': i ? 13 : 16,
        lang: shown[i].language}, shown[i].word));
  });
  figure.append(svg);
};
const link = () => {
  const [lang, to] = [$('from').value, $('to').value];
  const texts = [$('source').value, $('target').value];
  const box = $('links'), [above, svg, below] = box.children;
  const links = align(...texts, lang, to);
  box.hidden = false;
  [[above, texts[0], lang], [below, texts[1], to]].forEach(([side, text, language]) => {
    side.dir = DATA.from_right.includes(language) ? 'rtl' : 'ltr';  // its words have their own
    side.replaceChildren(...cut(text, language).map(word => spoken(word, language)));
  });
  $('near').textContent = `Cosine of the sentences: ${similarity(...texts, lang, to).toFixed(3)}`;
  const at = box.getBoundingClientRect(), top = svg.getBoundingClientRect();
  svg.replaceChildren(...links.map(([i, j]) => {
    const [a, b] = [above.children[i], below.children[j]].map(x => x.getBoundingClientRect());
    const [x, z] = [a, b].map(r => r.left + r.width / 2 - at.left);
    const [y, w] = [a.bottom - top.top, b.top - top.top];
    return drawn('path', {d: `M${x} ${y}C${x} ${(y + w) / 2} ${z} ${(y + w) / 2} ${z} ${w}`});
  }));
};
for (const id of ['language', 'from', 'to'])
  $(id).append(...DATA.languages.map(x => make('option', {value: x}, nameOf(x))));
if (DATA.languages.length > 1) {
  $('from').value = $('language').value = DATA.languages[1];
  $('to').value = DATA.languages[0];
}
$('ask').onsubmit = e => {
  e.preventDefault();
  if ($('text').value.trim()) ask($('text').value, $('language').value);
};
$('pair').onsubmit = e => { e.preventDefault(); link(); };
$('about').textContent = DATA.languages.map(x => {
  const left = DATA.left[x] ? ` (${DATA.left[x].toLocaleString('en')} rare ones are left out)` : '';
  return `${nameOf(x)}: ${DATA.words[x].length.toLocaleString('en')} words${left}`;
}).join(' · ');
