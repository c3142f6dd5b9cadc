// What an element is, and how it can be found again: its role and name, whether it hides what is typed, and every
// exact way to it with the number of its matches.
//
// Laws of this file:
// - A way to an element is counted as a run would count it: by exact names, among what is shown.
// - Roles and names are those of the ARIA and accessible-name specifications, as far as selectors by role use them.
// - A value that looks generated is no way to an element.
// - A field that once hid what is typed stays a secret one.
// - Nothing is changed on the page.

const squash = text => text.replace(/[\u200b\u00ad]/g, '').trim().replace(/\s+/g, ' ');
const parentOf = el => el.parentElement ?? (el.getRootNode() instanceof ShadowRoot ? el.getRootNode().host : null);
const isShown = el => elements.shown(el).length > 0;
const isEditingHost = el => el.isContentEditable && !parentOf(el)?.isContentEditable;

const secrets = new WeakSet();
const SECRET = 'input[type=password], [autocomplete~=current-password], [autocomplete~=new-password], ' +
  '[autocomplete~=one-time-code], [autocomplete^=cc-]';
const isSecret = el => {
  if (el.matches(SECRET) || getComputedStyle(el).webkitTextSecurity !== 'none') secrets.add(el);
  return secrets.has(el);
};

// Nothing below is shown either; an element of which only the content is laid out is not gone.
const isGone = el => !el.checkVisibility() && getComputedStyle(el).display !== 'contents';

const everything = root => {
  const found = [];
  const walk = place => {
    for (const el of place.querySelectorAll('*')) {
      found.push(el);
      if (el.shadowRoot) walk(el.shadowRoot);
    }
  };
  if (root.shadowRoot) walk(root.shadowRoot);
  walk(root);
  return found;
};

// Roles

const INPUT_ROLES = {
  button: 'button', checkbox: 'checkbox', image: 'button', number: 'spinbutton', radio: 'radio', range: 'slider',
  reset: 'button', submit: 'button', file: 'button',
};
const TAG_ROLES = {
  ARTICLE: 'article', ASIDE: 'complementary', BLOCKQUOTE: 'blockquote', BUTTON: 'button', CAPTION: 'caption',
  CODE: 'code', DATALIST: 'listbox', DD: 'definition', DEL: 'deletion', DETAILS: 'group', DFN: 'term',
  DIALOG: 'dialog', DT: 'term', EM: 'emphasis', FIELDSET: 'group', FIGURE: 'figure', H1: 'heading', H2: 'heading',
  H3: 'heading', H4: 'heading', H5: 'heading', H6: 'heading', HR: 'separator', HTML: 'document', INS: 'insertion',
  LI: 'listitem', MAIN: 'main', MARK: 'mark', MATH: 'math', MENU: 'list', METER: 'meter', NAV: 'navigation',
  OL: 'list', OPTGROUP: 'group', OPTION: 'option', OUTPUT: 'status', P: 'paragraph', PROGRESS: 'progressbar',
  SEARCH: 'search', STRONG: 'strong', SUB: 'subscript', SUP: 'superscript', SVG: 'img', TABLE: 'table',
  TBODY: 'rowgroup', TEXTAREA: 'textbox', TFOOT: 'rowgroup', THEAD: 'rowgroup', TIME: 'time', TR: 'row', UL: 'list',
};
const SECTIONS = 'article, aside, main, nav, section, [role=article], [role=complementary], [role=main], ' +
  '[role=navigation], [role=region]';

const inputRole = el => {
  if (el.type === 'hidden') return '';
  const textual = ['email', 'tel', 'text', 'url', 'search', ''].includes(el.type);
  if (textual && el.list) return 'combobox';
  return el.type === 'search' ? 'searchbox' : INPUT_ROLES[el.type] ?? 'textbox';
};
const cellRole = el => {
  const table = el.closest('table');
  const grid = ['grid', 'treegrid'].includes(table?.getAttribute('role'));
  if (el.tagName === 'TD') return grid ? 'gridcell' : 'cell';
  const scope = el.getAttribute('scope');
  if (scope === 'col' || scope === 'colgroup') return 'columnheader';
  if (scope === 'row' || scope === 'rowgroup') return 'rowheader';
  const near = [el.previousElementSibling, el.nextElementSibling];
  if (!near.some(Boolean)) return table && table.rows.length <= 1 ? '' : 'columnheader';
  if (near.every(other => other?.tagName === 'TH')) return 'columnheader';
  const holds = other => other?.tagName === 'TD' && (other.textContent.trim() !== '' || other.children.length > 0);
  return near.some(holds) ? 'rowheader' : 'columnheader';
};
const named = el => el.hasAttribute('aria-label') || el.hasAttribute('aria-labelledby');
const impliedRole = el => {
  switch (el.tagName) {
    case 'A': case 'AREA': return el.hasAttribute('href') ? 'link' : '';
    case 'INPUT': return inputRole(el);
    case 'SELECT': return el.multiple || el.size > 1 ? 'listbox' : 'combobox';
    case 'TD': case 'TH': return cellRole(el);
    case 'IMG': return el.getAttribute('alt') === '' && !el.title && !named(el) ? 'presentation' : 'img';
    case 'FORM': return named(el) ? 'form' : '';
    case 'SECTION': return named(el) ? 'region' : '';
    case 'HEADER': return el.closest(SECTIONS) ? '' : 'banner';
    case 'FOOTER': return el.closest(SECTIONS) ? '' : 'contentinfo';
    default: return TAG_ROLES[el.tagName.toUpperCase()] ?? '';
  }
};
const roleOf = el => {
  const given = (el.getAttribute('role') ?? '').toLowerCase().trim().split(/\s+/)[0];
  if (given !== 'none' && given !== 'presentation') return given || impliedRole(el);
  return named(el) || el.tabIndex >= 0 ? impliedRole(el) : 'presentation';
};

// Names

const NAMED_BY_CONTENT = new Set(['button', 'cell', 'checkbox', 'columnheader', 'gridcell', 'heading', 'link',
  'menuitem', 'menuitemcheckbox', 'menuitemradio', 'option', 'radio', 'row', 'rowheader', 'switch', 'tab', 'tooltip',
  'treeitem']);
const PART_OF_CONTENT = new Set(['', 'caption', 'code', 'contentinfo', 'definition', 'deletion', 'emphasis',
  'insertion', 'list', 'listitem', 'mark', 'none', 'paragraph', 'presentation', 'region', 'rowgroup', 'section',
  'strong', 'subscript', 'superscript', 'table', 'term', 'time', 'row']);
const NAMELESS = new Set(['caption', 'code', 'definition', 'deletion', 'emphasis', 'generic', 'insertion', 'mark',
  'paragraph', 'presentation', 'strong', 'subscript', 'superscript', 'term', 'time', '']);

const isIgnored = el => ['STYLE', 'SCRIPT', 'NOSCRIPT', 'TEMPLATE'].includes(el.tagName);
const isRendered = el =>
  el.checkVisibility({ visibilityProperty: true }) || getComputedStyle(el).display === 'contents' ||
  (el.tagName === 'OPTION' && el.closest('select') !== null);
const isOutOfTree = el => {
  if (isIgnored(el) || !isRendered(el)) return true;
  for (let at = el; at; at = parentOf(at)) if (at.getAttribute('aria-hidden') === 'true') return true;
  return false;
};

const quoted = (el, place) => {
  const style = getComputedStyle(el, place);
  if (style.display === 'none' || style.visibility !== 'visible') return '';
  const content = /^"((?:[^"\\]|\\.)*)"(?:\s*\/\s*"((?:[^"\\]|\\.)*)")?$/.exec(style.content);
  if (content === null) return '';
  const text = (content[2] ?? content[1]).replace(/\\(.)/g, '$1');
  return style.display === 'inline' ? text : ` ${text} `;
};
const byIds = (el, ids) => ids.split(/\s+/).filter(Boolean).map(id => el.getRootNode().getElementById?.(id)).filter(Boolean);
const labelledBy = el => byIds(el, el.getAttribute('aria-labelledby') ?? '');

// `how` says for what the text is wanted: 'self' for the element's own name, 'part' as a part of another's content,
// 'label' as a label, 'reference' by aria-labelledby, 'hidden' by aria-labelledby although it is not rendered.
const alternative = (el, how, seen) => {
  if (seen.has(el)) return '';
  seen.add(el);
  if (isIgnored(el) || (how !== 'hidden' && isOutOfTree(el))) return '';
  const isReferred = how === 'reference' || how === 'hidden';
  const referred = isReferred ? '' : labelledBy(el).map(referredText).join(' ');
  if (referred) return referred;
  const role = roleOf(el);
  const held = how === 'self' ? null : heldText(el, role);
  if (held !== null) return held;
  const given = el.getAttribute('aria-label') ?? '';
  if (given.trim()) return given;
  const native = role === 'presentation' ? null : nativeText(el, how, seen);
  if (native !== null) return native;
  const fromContent = NAMED_BY_CONTENT.has(role) || el.tagName === 'SUMMARY' || isReferred || how === 'label' ||
    (how === 'part' && PART_OF_CONTENT.has(role));
  const content = fromContent ? contentText(el, how === 'self' ? 'part' : how, seen) : '';
  if (how === 'self' ? content.trim() : content) return content;
  return role === 'presentation' ? '' : el.getAttribute('title') ?? '';
};
const referredText = ref => alternative(ref, isOutOfTree(ref) ? 'hidden' : 'reference', new Set());
const heldText = (el, role) => {
  if (role === 'textbox' || role === 'searchbox') return 'value' in el ? el.value : el.textContent;
  if (role === 'combobox' || role === 'listbox') return chosenText(el, role);
  if (!['progressbar', 'scrollbar', 'slider', 'spinbutton', 'meter'].includes(role)) return role === 'menu' ? '' : null;
  return el.getAttribute('aria-valuetext') ?? el.getAttribute('aria-valuenow') ?? el.getAttribute('value') ?? '';
};
const chosenText = (el, role) => {
  if (el.tagName === 'SELECT') return Array.from(el.selectedOptions, option => squash(option.textContent)).join(' ');
  const owned = [el, ...byIds(el, el.getAttribute('aria-owns') ?? '')].flatMap(it => [it, ...it.querySelectorAll('*')]);
  const list = role === 'combobox' ? owned.find(it => roleOf(it) === 'listbox') : el;
  const chosen = Array.from(list?.querySelectorAll('[aria-selected=true i]') ?? []).filter(it => roleOf(it) === 'option');
  return chosen.length || el.tagName !== 'INPUT' ? chosen.map(it => alternative(it, 'part', new Set())).join(' ') : el.value;
};
const fromLabels = el => Array.from(el.labels, label => alternative(label, 'label', new Set([el]))).filter(Boolean).join(' ');
const nativeText = (el, how, seen) => {
  const hasRefs = labelledBy(el).length > 0;
  switch (el.tagName) {
    case 'INPUT': return inputText(el, how, hasRefs);
    case 'BUTTON': return !hasRefs && el.labels?.length ? fromLabels(el) : null;
    case 'OUTPUT': return hasRefs ? null : el.labels?.length ? fromLabels(el) : el.title;
    case 'TEXTAREA': case 'SELECT': case 'METER': case 'PROGRESS': return hasRefs ? null : fieldText(el, el.tagName === 'TEXTAREA');
    case 'FIELDSET': return hasRefs ? null : childText(el, 'LEGEND', seen) ?? el.title;
    case 'FIGURE': return hasRefs ? null : childText(el, 'FIGCAPTION', seen) ?? el.title;
    case 'TABLE': return childText(el, 'CAPTION', seen) ?? (el.getAttribute('summary') || null);
    case 'IMG': case 'AREA': return (el.alt ?? '').trim() ? el.alt : el.title;
    default: return el.tagName === 'svg' || el.ownerSVGElement ? childText(el, 'title', seen) : null;
  }
};
const childText = (el, tag, seen) => {
  const child = Array.from(el.children).find(it => it.tagName === tag);
  return child ? alternative(child, 'label', seen) : null;
};
const inputText = (el, how, hasRefs) => {
  if (['button', 'submit', 'reset'].includes(el.type)) {
    if (el.value.trim()) return el.value;
    return el.type === 'button' ? el.title : { submit: 'Submit', reset: 'Reset' }[el.type];
  }
  const labels = el.labels?.length && how !== 'reference' && how !== 'hidden';
  if (el.type === 'image') return labels ? fromLabels(el) : el.alt.trim() || el.title.trim() || 'Submit';
  if (el.type === 'file') return labels ? fromLabels(el) : 'Choose File';
  return hasRefs ? null : fieldText(el, ['text', 'password', 'number', 'search', 'tel', 'email', 'url'].includes(el.type));
};
const fieldText = (el, mayHint) => {
  if (el.labels?.length) return fromLabels(el);
  return !mayHint || el.title ? el.title : el.placeholder;
};
const contentText = (el, how, seen) => {
  const parts = [quoted(el, '::before')];
  const visit = node => {
    if (node.nodeType === 3) parts.push(node.textContent);
    if (node.nodeType !== 1) return;
    const text = alternative(node, how, seen);
    const inline = (getComputedStyle(node).display || 'inline') === 'inline' && node.tagName !== 'BR';
    parts.push(inline ? text : ` ${text} `);
  };
  const slotted = el.tagName === 'SLOT' ? el.assignedNodes() : [];
  if (slotted.length) slotted.forEach(visit);
  else {
    for (const node of el.childNodes) if (!node.assignedSlot) visit(node);
    if (el.shadowRoot) el.shadowRoot.childNodes.forEach(visit);
    byIds(el, el.getAttribute('aria-owns') ?? '').forEach(visit);
  }
  parts.push(quoted(el, '::after'));
  return parts.join('');
};
const nameOf = el => (NAMELESS.has(roleOf(el)) ? '' : squash(alternative(el, 'self', new Set())));

// Labels, as selectors by label read them

const rawText = node => {
  if (node.nodeType === 3) return node.data;
  if (node.nodeType !== 1 || ['SCRIPT', 'NOSCRIPT', 'STYLE'].includes(node.tagName)) return '';
  if (node.tagName === 'INPUT' && ['submit', 'button'].includes(node.type)) return node.value;
  return Array.from(node.childNodes, rawText).join('') + (node.shadowRoot ? Array.from(node.shadowRoot.childNodes, rawText).join('') : '');
};
const labelsOf = el => {
  if (el.hasAttribute('aria-labelledby') && labelledBy(el).length) return labelledBy(el).map(ref => squash(rawText(ref)));
  const given = el.getAttribute('aria-label') ?? '';
  if (given.trim()) return [squash(given)];
  return el.type === 'hidden' ? [] : Array.from(el.labels ?? [], label => squash(rawText(label)));
};

// What is shown only while it is pointed at: a run looks for it without pointing there

const POINTING = /:(hover|focus|focus-within|focus-visible|active)(?![\w-])/g;
const rulesIn = holder => {
  try {
    return Array.from(holder.cssRules).flatMap(rule => [rule, ...(rule.cssRules ? rulesIn(rule) : [])]);
  } catch {
    // The style sheet of another server is not told to scripts.
    return [];
  }
};
// Selectors of what pointing lets appear, each as it is without the pointing.
const appearing = () => {
  const sheets = [...document.styleSheets, ...document.adoptedStyleSheets];
  const rules = sheets.flatMap(rulesIn).filter(rule => rule.selectorText?.includes(':') && (rule.style.display || rule.style.visibility));
  const parts = rules.flatMap(rule => rule.selectorText.split(/,(?![^(]*\))/)).map(part => [part, part.replace(POINTING, '')]);
  return parts.filter(([part, bare]) => part !== bare && /[\w\])*]$/.test(bare.trim()) && CSS.supports(`selector(${bare})`)).map(([, bare]) => bare);
};

// Looking at a whole document once

class Look {
  constructor() {
    this.all = everything(document);
    this.roles = new Map();
    for (const el of this.all) {
      const role = roleOf(el);
      if (role) (this.roles.get(role) ?? this.roles.set(role, []).get(role)).push(el);
    }
    this.names = new Map();
    this.shownNow = new Map();
    this.labels = null;
    this.texts = null;
    this.captions = new Map();
    this.dialogs = null;
    this.appearing = null;
  }
  // Whether a part of the element is shown only while somebody points at it.
  appears(el) {
    this.appearing ??= appearing();
    return Array.from(el.querySelectorAll('*')).some(part => this.appearing.some(css => part.matches(css)));
  }
  name(el) {
    if (!this.names.has(el)) this.names.set(el, nameOf(el));
    return this.names.get(el);
  }
  shows(el) {
    if (!this.shownNow.has(el)) this.shownNow.set(el, isShown(el));
    return this.shownNow.get(el);
  }
  labelled(text) {
    if (this.labels === null) {
      this.labels = new Map();
      for (const el of this.all) {
        if (!el.labels?.length && !named(el)) continue;
        for (const label of labelsOf(el)) (this.labels.get(label) ?? this.labels.set(label, []).get(label)).push(el);
      }
    }
    return this.labels.get(text) ?? [];
  }
  captioned(text) {
    if (this.texts === null) {
      this.texts = new Map();
      for (const el of this.all) {
        const own = ownText(el);
        if (own) (this.texts.get(own) ?? this.texts.set(own, []).get(own)).push(el);
      }
    }
    if (!this.captions.has(text)) {
      const named = this.texts.get(text) ?? [];
      this.captions.set(text, Array.from(new Set(named.flatMap(el => elements.beside(document.documentElement, el)))));
    }
    return this.captions.get(text);
  }
  dialog() {
    return (this.dialogs ??= elements.dialog(document));
  }
}

// Ways to an element

const LONGEST_NAME = 200;
const ATTRIBUTES = ['name', 'id', 'formcontrolname', 'placeholder', 'aria-label', 'title', 'aria-labelledby',
  'aria-controls', 'aria-owns', 'href', 'for', 'value', 'type', 'class'];
const GENERATED = [/\d{4,}/, /[0-9a-f]{8}-[0-9a-f]{4}/i, /(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,}/i, /^:.*:$/, /[«»]/,
  /autogen/i, /^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[A-Za-z0-9_-]{12,}$/, /^(ember|ext-gen|ui-id|gwt-uid|yui|yui_|jq|dojo|mui|radix|headlessui|react|rc|rc_select|el-id|cdk|mat|ng|v|input|field|tox|mce|aui)[-_:]?.*[-_:]?\d+$/i,
  /(^|[-_])\d+([-_]\d+)+$/];
const STATES = /(^|[\s_-])(active|focus|focused|hover|open|opened|show|shown|selected|current|checked|disabled|dirty|pristine|touched|untouched|valid|invalid|error|loading|busy|pressed|expanded|collapsed)([\s_-]|$)/i;
const looksGenerated = text => GENERATED.some(shape => shape.test(text));

const attributesOf = el => {
  const own = Array.from(el.attributes, attribute => attribute.name);
  const data = own.filter(name => /^data-[a-z][a-z0-9-]*$/.test(name) && !/^data-(v-|react|testid$|select2-id|.*(value|initial|original|current|default|content|style|tooltip|title|html))/.test(name));
  return [...ATTRIBUTES.slice(0, 3), ...data, ...ATTRIBUTES.slice(3)].filter(name => isWay(el, name, el.getAttribute(name)));
};
const isWay = (el, name, text) => {
  if (!text || text.length > LONGEST_NAME || looksGenerated(text) || /[\n\r\t]/.test(text)) return false;
  if (name === 'href') return rowOf(el) === null;
  if (name !== 'value' && text === el.value) return false;
  if (name === 'class') return !STATES.test(text);
  if (name === 'value') return el.matches('button, input[type=submit], input[type=button], input[type=radio], input[type=checkbox]');
  if (name === 'type') return el.matches('button, input') && text === 'submit';
  return true;
};

// The text beside which the element stands, as a run would find it: of the texts before it, the nearest that means it.
const captionNear = (el, look) => {
  const tried = new Set();
  for (let place = parentOf(el), climbs = 0; place && climbs < 7; place = parentOf(place), climbs += 1) {
    for (const text of textsBefore(el, place).reverse().slice(0, 3)) {
      if (tried.has(text)) continue;
      if (tried.add(text).size > 8) return '';
      if (look.captioned(text).some(it => it === el || (el.contains(it) && isAlone(it, el)))) return text;
    }
  }
  return '';
};
const words = text => text.replace(/[ \t\r\n\f]+/g, ' ').replace(/^ | $/g, '');
// Whether nothing else that can be entered stands in this place.
const isAlone = (el, place) => Array.from(place.querySelectorAll(FIELDS)).every(it => el.contains(it) || it.contains(el) || !isShown(it) || isSliver(it));
const isSliver = el => el.getBoundingClientRect().width <= 1 || el.getBoundingClientRect().height <= 1;
const ownText = el => words(Array.from(el.childNodes, node => (node.nodeType === 3 ? node.data : '')).join(''));
const textsBefore = (el, place) => {
  const before = everything(place).filter(it => precedes(it, el) && !it.closest('option, script, style, button'));
  return before.map(ownText).filter(text => text.length <= LONGEST_NAME && /\p{L}/u.test(text));
};
const precedes = (one, other) => (one.compareDocumentPosition(other) & 4) !== 0 && !one.contains(other);

// Every way to the element with what it matches in the whole document, best first; without rows and dialogs.
const waysTo = (el, look) => {
  const ways = [];
  const shown = found => found.filter(it => look.shows(it));
  const testId = el.getAttribute('data-testid');
  if (testId && testId.length <= LONGEST_NAME) {
    ways.push([{ kind: 'test_id', name: testId }, shown(look.all.filter(it => it.getAttribute('data-testid') === testId))]);
  }
  const role = roleOf(el);
  const name = /^[a-z]{1,30}$/.test(role) ? look.name(el) : '';
  if (/[\p{L}\p{N}]/u.test(name) && name.length <= LONGEST_NAME && !(isNamedByContent(el) && look.appears(el))) {
    const same = look.roles.get(role).filter(it => look.name(it) === name && !isOutOfTree(it));
    ways.push([{ kind: 'role', name, role }, same]);
  }
  for (const label of new Set(labelsOf(el))) {
    if (label && label.length <= LONGEST_NAME) ways.push([{ kind: 'label', name: label }, shown(look.labelled(label))]);
  }
  for (const attribute of attributesOf(el)) {
    const text = el.getAttribute(attribute);
    ways.push([{ kind: 'attribute', name: text, attribute }, shown(look.all.filter(it => it.getAttribute(attribute) === text))]);
  }
  const isNamed = ways.some(([way, found]) => ['role', 'label'].includes(way.kind) && found.length === 1 && !isNamedByContent(el));
  const isButton = el.matches('a, button, input[type=submit], input[type=button]') && !el.matches(FIELDS);
  const caption = isNamed || isButton ? '' : captionNear(el, look);
  if (caption) ways.push([{ kind: 'caption', name: caption }, look.captioned(caption)]);
  return ways;
};
const isNamedByContent = el => NAMED_BY_CONTENT.has(roleOf(el)) && !named(el) && !el.labels?.length;
const BOXES = '[role=checkbox], [role=switch], [role=menuitemcheckbox]';
const FIELDS = 'input, textarea, select, [contenteditable], [role=textbox], [role=combobox], [role=listbox], ' +
  '[role=spinbutton], [role=checkbox], [role=switch], [role=slider]';

// Rows

const rowOf = el => {
  const row = el.parentElement?.closest('tr, [role=row], li, [role=listitem]') ?? null;
  if (row === null || row.querySelector('tr, [role=row]')) return null;
  return isItem(row) && row.textContent.trim() === el.textContent.trim() ? null : row;
};
const isItem = row => row.matches('li, [role=listitem]');
const cellsOf = (row, look) => {
  if (isItem(row)) return Array.from(new Set(everything(row).filter(it => it.children.length === 0 && isShown(it)).map(it => squash(rawText(it))))).filter(Boolean).slice(0, 40);
  const cells = Array.from(row.querySelectorAll('td, th, [role=cell], [role=gridcell], [role=rowheader]'));
  return cells.slice(0, 40).map(cell => cellText(cell, look));
};
// The text of a cell without the buttons beside it, where an element has exactly that; the whole name otherwise.
const cellText = (cell, look) => {
  const text = squash(elements.choices([cell])[0]);
  return text && everything(cell).some(part => squash(rawText(part)) === text) ? text : look.name(cell);
};
const headersOf = row => {
  const table = row.closest('table, [role=grid], [role=table], [role=treegrid]');
  const head = Array.from(table?.querySelectorAll('thead tr, [role=row]') ?? []).find(it => it.querySelector('th, [role=columnheader]'));
  return head && head !== row ? Array.from(head.querySelectorAll('th, td, [role=columnheader]'), it => squash(it.textContent).slice(0, 500)) : [];
};
const rowsWith = (text, look) => {
  const holds = it => everything(it).some(part => squash(rawText(part)) === text);
  const items = (look.roles.get('listitem') ?? []).filter(it => !it.querySelector('li, [role=listitem]') && holds(it));
  const cells = ['cell', 'gridcell', 'rowheader'].flatMap(role => look.roles.get(role) ?? []).filter(it => !isOutOfTree(it));
  const holding = cells.filter(it => look.name(it) === text || holds(it)).map(it => it.closest('tr, [role=row]'));
  return Array.from(new Set([...holding.filter(Boolean), ...items]));
};

const MOST_WAYS = 12;
const candidatesFor = (el, look, group = null) => {
  const frame = frameName();
  const ways = waysTo(el, look);
  const dialog = look.dialog();
  const found = [];
  const add = (target, matches) => found.push({ target: frame ? { ...target, frame } : target, matches });
  const count = list => (group === null ? list.length : sameGroup(list, group));
  for (const [way, list] of ways) {
    if (dialog.length === 1 && dialog[0].contains(el)) add({ ...way, within: 'dialog' }, count(list.filter(it => dialog[0].contains(it))));
    add(way, count(list));
  }
  const row = rowOf(el);
  if (row !== null && group === null) {
    for (const text of cellsOf(row, look)) {
      if (!text || text.length > LONGEST_NAME) continue;
      const rows = rowsWith(text, look);
      for (const [way, list] of ways.slice(0, 2)) {
        const target = { ...way, row: { kind: 'constant', text } };
        add(target, list.filter(it => rows.some(one => one.contains(it))).length);
      }
    }
  }
  const rank = one => (one.matches === 1 ? 0 : 1);
  return found.map((one, at) => [one, at]).sort(([a, i], [b, j]) => rank(a) - rank(b) || i - j).slice(0, MOST_WAYS).map(([one]) => one);
};
// A group of radio buttons is one thing: it is matched once when exactly its buttons are.
const sameGroup = (list, group) => {
  const inside = list.filter(it => group.includes(it)).length;
  return list.length === group.length && inside === group.length ? 1 : list.length + (inside === list.length ? 1 : 0);
};

const frameName = () => {
  if (window === window.top) return '';
  try {
    return (window.frameElement.title || window.frameElement.name).slice(0, LONGEST_NAME);
  } catch {
    return window.name.slice(0, LONGEST_NAME);
  }
};

// Groups of radio buttons

const groupOf = el => {
  const all = Array.from(el.getRootNode().querySelectorAll('input[type=radio]'));
  return el.name ? all.filter(it => it.name === el.name && it.form === el.form) : [el];
};
// What holds exactly the buttons of one group.
const ownGroup = el => {
  const around = el.closest('[role=radiogroup], fieldset');
  const others = Array.from(around?.querySelectorAll('input:not([type=hidden]), select, textarea') ?? []);
  return others.length === groupOf(el).length && others.every(it => groupOf(el).includes(it)) ? around : null;
};
const groupCandidates = (el, look) => {
  const around = ownGroup(el);
  const candidates = [...candidatesFor(el, look, groupOf(el)), ...(around ? candidatesFor(around, look) : [])];
  return candidates.filter(it => it.matches === 1).slice(0, MOST_WAYS);
};
