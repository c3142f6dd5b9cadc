// What a page shows: where it is, which known texts stand on it, and where its links lead.
//
// Laws of this file:
// - A text is known when it was entered or stood in a clicked row; no other text of a page is told.
// - What a secret field holds is never looked at.

// Known texts by their comparable form: for each its key, the rule under which it is equal, the form of a date, and
// the text as it was.
const known = new Map();
// The same without any white space, to pass over quickly what shows none of them.
const bare = new Set();
const barely = text => text.normalize('NFC').replace(/\s+/g, '');
const comparable = text => text.normalize('NFC').replace(/\r\n?/g, '\n').trim();
const know = entries => {
  for (const [text, key, rule, form] of entries) {
    const place = rule === 'decimal' ? text : comparable(text);
    const list = known.get(place) ?? known.set(place, []).get(place);
    if (place !== '') bare.add(barely(text));
    if (place !== '' && !list.some(one => one[0] === key && one[1] === rule && one[2] === form)) list.push([key, rule, form, text]);
  }
};
const knowExactly = (text, key) => know([[text, key, 'identifier', 'yyyy-mm-dd']]);
const NUMBER = /^-?(0|[1-9]\d{0,14})(\.\d{1,15})?$/;
const numberOf = text => (NUMBER.test(text) ? `#${Number(text)}` : null);
const isBare = text => bare.has(barely(text)) || known.has(numberOf(text.trim()));
const longest = () => Math.max(0, ...Array.from(bare, text => text.length));
const knownAs = text => {
  const hits = known.get(comparable(text)) ?? [];
  const exact = text.replace(/^[ \t\r\n\f]+|[ \t\r\n\f]+$/g, '');
  const found = hits.map(([key, rule, form, as]) => [key, rule === 'identifier' && as !== exact && as !== text ? 'text' : rule, form]);
  const numbers = (known.get(numberOf(exact)) ?? []).filter(([key]) => !found.some(one => one[0] === key));
  return [...found, ...numbers];
};

// Where a page is

const outermost = () => {
  try {
    return window.top.location.href ? window.top : window;
  } catch {
    return window;
  }
};
const addressPath = path => path.replace(/[\s#]/g, encodeURIComponent).slice(0, 500) || '/';
const queryOf = search => {
  const parts = Array.from(new URLSearchParams(search), ([name, value]) => ({ name, value: value.slice(0, 200) }));
  return parts.filter(part => /^[^\s=&#]{1,100}$/.test(part.name)).slice(0, 30);
};
const placeOf = look => {
  const at = outermost().location;
  return {
    origin: at.origin, path: addressPath(at.pathname), query: queryOf(at.search),
    fragment: at.hash.slice(1, 501), landmarks: look === null ? [] : landmarksOf(look),
  };
};
const LANDMARKS = ['heading', 'button', 'tab', 'link', 'textbox', 'combobox'];
const landmarksOf = look => {
  const inDialog = look.dialog().length === 1 ? look.dialog()[0] : null;
  const near = el => (inDialog === null || inDialog.contains(el) ? 0 : 1);
  const found = [];
  for (const role of LANDMARKS) {
    const named = (look.roles.get(role) ?? []).filter(el => !isOutOfTree(el) && look.shows(el)).slice(0, 60);
    for (const el of named.sort((a, b) => near(a) - near(b))) {
      const name = look.name(el);
      if (!name || name.length > LONGEST_NAME || (isNamedByContent(el) && look.appears(el))) continue;
      const matches = look.roles.get(role).filter(it => look.name(it) === name && !isOutOfTree(it)).length;
      if (matches === 1) found.push({ target: { kind: 'role', name, role }, matches });
      if (found.length >= MOST_WAYS || (role !== 'heading' && found.length >= 6)) return found;
    }
  }
  return found;
};

// Boxes are known by what names them and by their state.

const boxForms = (candidates, checked) => {
  const naming = candidates.map(it => it.target).filter(it => ['label', 'role', 'caption'].includes(it.kind) || it.attribute === 'name');
  return Array.from(new Set(naming.map(it => `box ${it.kind} ${it.name} ${checked}`)));
};
const formsOfBox = (el, look) => {
  const caption = el.matches(BOXES) && look.shows(el) && isNamedByContent(el) ? captionNear(el, look) : '';
  const names = [...labelsOf(el).map(text => ['label', text]), ['role', nameOf(el)], ['attribute', el.getAttribute('name') ?? ''], ['caption', caption]];
  return names.filter(([, name]) => name).map(([kind, name]) => `box ${kind} ${name} ${stateOf(el) ?? elements.values([el])[0]}`);
};

// What a page shows

const MOST_SHOWN = 200;
const MOST_FOR_ONE = 8;
const UNTOLD = '[type=checkbox], [type=radio], [type=file], [type=hidden], [type=submit], [type=button], [type=reset], [type=image]';
const enteredText = el => {
  if (el.type === 'radio') return el.checked ? nameOf(el) : '';
  return el.matches(UNTOLD) || isSecret(el) ? '' : elements.values([el])[0];
};
const matchesIn = (root, look) => {
  const found = [];
  const most = longest() * 2 + 20;
  const take = (el, hits) => hits.length && (look.shows(el) || el.type === 'radio') && found.push([el, hits]);
  const walk = el => {
    if (isIgnored(el) || el.tagName === 'OPTION' || isGone(el)) return;
    if (el.matches('input[type=checkbox], [role=checkbox], [role=switch]')) take(el, boxHits(el, look));
    else if (el.matches('input, textarea, select')) take(el, knownAs(enteredText(el)));
    else if (isEditingHost(el)) take(el, knownAs(elements.values([el])[0]));
    else walkInto(el);
  };
  const walkInto = el => {
    const before = found.length;
    for (const child of el.children) walk(child);
    for (const child of el.shadowRoot?.children ?? []) walk(child);
    const isOption = el.matches('label') && el.control?.type === 'radio';
    if (found.length === before && !isOption && isNearlyKnown(el, most)) take(el, knownAs(el.innerText ?? ''));
  };
  walk(root);
  return found;
};
const isNearlyKnown = (el, most) => {
  const text = el.textContent;
  return text.length > 0 && (text.length <= most || barely(text).length <= most) && isBare(text);
};
const boxHits = (el, look) => {
  const keys = new Set(formsOfBox(el, look).flatMap(form => known.get(form) ?? []).map(([key]) => key));
  return Array.from(keys, key => [key, 'choice', 'yyyy-mm-dd']);
};
const seen = look => {
  const showings = [];
  const counts = new Map();
  if (known.size > 0) {
    for (const [el, hits] of matchesIn(document.body ?? document.documentElement, look)) {
      const fresh = hits.filter(([key]) => (counts.get(key) ?? 0) < MOST_FOR_ONE);
      const ways = fresh.length === 0 ? [] : el.type === 'radio' ? groupCandidates(el, look) : candidatesFor(el, look);
      // What is found by the very text that it shows is there only as long as it shows that.
      const own = squash(elements.values([el])[0]);
      const candidates = ways.filter(({ target }) => target.name !== own);
      for (const [key, rule, form] of candidates.length ? fresh : []) {
        counts.set(key, (counts.get(key) ?? 0) + 1);
        showings.push({ key, rule, form, candidates });
      }
    }
  }
  return showings.slice(0, MOST_SHOWN);
};
const linksOf = () => {
  const paths = Array.from(document.links).filter(a => a.origin === location.origin).map(a => addressPath(a.pathname + a.search));
  return Array.from(new Set(paths)).slice(0, 300);
};
// The page of this frame and of the frames of the same origin in it.
const pageSeen = look => {
  const showings = seen(look);
  for (const frame of document.querySelectorAll('iframe, frame')) {
    try {
      const inner = frame.contentWindow[FACE];
      if (inner && isShown(frame)) showings.push(...inner.showings());
    } catch {
      // Another origin: what stands there is seen by its own events alone.
    }
  }
  return { place: placeOf(look), showings: showings.slice(0, MOST_SHOWN), links: linksOf() };
};
