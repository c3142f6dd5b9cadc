// How the elements of a page are found and read, for selectors and for questions to the page alike.
//
// Laws of this file:
// - It is one expression: a function that gives an object of functions. Each window keeps one guard, what showed a text
//   before a list was opened, and which elements were read as fields; nothing of what they held.
// - Names are compared as a whole. Only the white space of the layout is evened out; a no-break space is somebody's own.
// - What stands beside a text is the one control there or, where there is none, the one text; several are none.
// - Nothing is changed on the page: no attribute, no element, no style.
// - What selectors ask for is given as a list of elements, so that several are told from one.
() => {
  const BOXES = 'input[type=checkbox], input[type=radio]';
  const BOX_ROLES = ['checkbox', 'switch', 'radio', 'menuitemcheckbox', 'menuitemradio'];
  const RADIOS = 'input[type=radio], [role=radio]';
  const CONTROLS =
    'input:not([type=hidden]):not([type=submit]):not([type=button]):not([type=reset]):not([type=image]), textarea, ' +
    'select, iframe, [contenteditable]:not([contenteditable=false]), [role=textbox], [role=searchbox], ' +
    '[role=combobox], [role=listbox], [role=spinbutton], [role=slider], [role=checkbox], [role=switch], [role=radio]';
  const DIALOGS = 'dialog[open], [role=dialog], [role=alertdialog], [aria-modal=true]';
  const OPTIONS = '[role=option], [role=menuitem], [role=menuitemradio], [role=menuitemcheckbox], [role=treeitem]';
  // What stands in a place and is no text of it; in what shows a choice, a label is none either.
  const NO_TEXT = 'button, [role=button], [aria-hidden=true], style, script';
  const BLOCKS = 'p, div, li, pre, blockquote, h1, h2, h3, h4, h5, h6';
  // Signs in elements of their own that open a list or take a choice away.
  const SIGN = /^[×✕✖✗⨯▾▼⌄▿▽]$/u;

  // A form has its fields as properties, so that one named "children" stands before what every element has.
  const method = (kind, name) => (el, ...given) => kind.prototype[name].apply(el, given);
  const property = (kind, name) => {
    const { get } = Object.getOwnPropertyDescriptor(kind.prototype, name);
    return el => (el instanceof kind ? get.call(el) : undefined);
  };
  const matches = method(Element, 'matches');
  const closest = method(Element, 'closest');
  const isLaidOut = method(Element, 'checkVisibility');
  const rootOf = method(Node, 'getRootNode');
  const children = property(Element, 'children');
  const shadowRoot = property(Element, 'shadowRoot');
  const childNodes = property(Node, 'childNodes');
  const parentElement = property(Node, 'parentElement');

  const words = text => text.replace(/[ \t\r\n\f]+/g, ' ').replace(/^ | $/g, '');
  const parent = el => parentElement(el) ?? (rootOf(el) instanceof ShadowRoot ? rootOf(el).host : null);
  const within = (el, place) => {
    for (let at = el; at; at = parent(at)) if (at === place) return true;
    return false;
  };

  const all = (root, css) => {
    const found = [];
    const walk = place => {
      for (const el of place.querySelectorAll('*')) {
        if (matches(el, css)) found.push(el);
        if (shadowRoot(el)) walk(shadowRoot(el));
      }
    };
    if (shadowRoot(root)) walk(shadowRoot(root));
    walk(root);
    return found;
  };

  const shown = el => {
    if (!isLaidOut(el, { visibilityProperty: true })) return false;
    const box = el.getBoundingClientRect();
    return box.width > 0 && box.height > 0;
  };
  // An element in a place of no size is laid out, and nobody sees it.
  const clipped = el => {
    for (let at = parent(el); at; at = parent(at)) {
      const clips = getComputedStyle(at).overflow !== 'visible' && getComputedStyle(at).display !== 'inline';
      if (clips && at !== document.documentElement && (at.clientWidth === 0 || at.clientHeight === 0)) return true;
    }
    return false;
  };

  const isRendered = el => isLaidOut(el, { visibilityProperty: true });
  // Whether an element is cut to nothing, or lies outside of the page: it is there for readers of the screen alone.
  const isCutAway = el => {
    const style = getComputedStyle(el);
    const { right, bottom, width, height } = el.getBoundingClientRect();
    if (el.getClientRects().length === 0) return false;
    if (style.position !== 'static' && (right + scrollX < 0 || bottom + scrollY < 0)) return true;
    if (style.display !== 'inline' && style.overflow !== 'visible' && (width <= 1 || height <= 1)) return true;
    return isNothing(style);
  };
  const isNothing = ({ position, clip, clipPath }) => {
    const [top, right, bottom, left] = (/^rect\((.*)\)$/.exec(clip)?.[1] ?? '').split(/,? /).map(parseFloat);
    const clips = position === 'absolute' || position === 'fixed';
    if (clips && (right - left <= 1 || bottom - top <= 1)) return true;
    return parseFloat(/^inset\(([\d.]+)%/.exec(clipPath)?.[1] ?? '0') >= 50 || /^(circle\(0|polygon\((0px 0px(, )?)+\))/.test(clipPath);
  };

  const ownText = el => words(Array.from(childNodes(el), node => (node.nodeType === 3 ? node.data : '')).join(''));
  // The text of an element without what nobody sees, its buttons, and its signs; all the text of one on a hidden part.
  const plain = (el, leftOut = NO_TEXT) => words(plainParts(el, leftOut).join(''));
  const plainParts = (el, leftOut) =>
    Array.from(childNodes(el)).flatMap(node => {
      if (node.nodeType === 3) return [node.data];
      if (node.nodeType !== 1 || matches(node, leftOut) || SIGN.test(words(node.textContent))) return [];
      if (isRendered(el) && (!isRendered(node) || isCutAway(node))) return [];
      const inline = getComputedStyle(node).display.startsWith('inline');
      return inline ? plainParts(node, leftOut) : [' ', ...plainParts(node, leftOut), ' '];
    });

  // Boxes

  const isBox = el => matches(el, BOXES);
  const labels = el => Array.from(el.labels ?? []).filter(label => shown(label) || !isRendered(parent(el)));
  const labelText = el => {
    const by = (el.getAttribute('aria-labelledby') ?? '').split(/\s+/).filter(Boolean);
    if (by.length) return words(by.map(id => rootOf(el).getElementById(id)).map(it => (it ? plain(it) : '')).join(' '));
    return words(el.getAttribute('aria-label') ?? '') || (labels(el).length ? plain(labels(el)[0]) : plain(el));
  };
  const isSeen = el => shown(el) || (isBox(el) && labels(el).length > 0);
  const isUnseenBox = el => {
    const { width, height } = el.getBoundingClientRect();
    return isBox(el) && (!shown(el) || width <= 1 || height <= 1 || getComputedStyle(el).opacity === '0');
  };
  const handles = el => {
    if (!isUnseenBox(el)) return [el];
    return labels(el).filter(label => label.querySelector('a[href], button') === null).slice(0, 1);
  };
  const radiosIn = el => all(el, RADIOS).filter(radio => isSeen(radio) || !isRendered(el));
  const radios = els => Array.from(new Set(els.flatMap(el => (matches(el, RADIOS) ? [el] : radiosIn(el)))));

  // What a person clicks who means this element: of a control that takes no click, the box that is drawn around it, as
  // long as nothing else in it can be used.
  const USABLE = `${CONTROLS}, button, a[href], input, [role=button], [role=link]`;
  const handOf = el => {
    const isOpen = matches(el, CONTROLS) && !matches(el, ':disabled, [aria-disabled=true]');
    let box = el;
    while (box && isOpen && getComputedStyle(box).pointerEvents === 'none') box = parent(box);
    // Where the whole page takes no click, something else that is open does.
    if (!box || matches(box, 'html, body') || all(box, USABLE).some(other => !within(other, el) && !within(el, other) && isSeen(other))) return el;
    return box;
  };

  // What stands beside a text

  const upFrom = function* (el, root) {
    for (let place = el; place; place = place === root ? null : parent(place)) yield place;
  };
  // A control and what it is made of are one: the field inside a combobox, the host around what is edited.
  const controlsIn = place => {
    const seen = all(place, CONTROLS).filter(isSeen);
    const inner = seen.filter(one => one.isContentEditable || !seen.some(other => other !== one && within(other, one)));
    return inner.filter(one => !inner.some(other => other !== one && within(one, other)));
  };
  const follows = (el, other) => (other.compareDocumentPosition(el) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
  const hasTextBefore = (place, control) => {
    const texts = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const { data, parentElement } = texts.currentNode;
      if (follows(control, texts.currentNode) && words(data) !== '' && shown(parentElement)) return true;
    }
    return false;
  };
  // Whether the text is among the first that stand before the control, and not one of something else far away.
  const belongs = (control, text) => {
    for (let place = parent(control); place; place = parent(place)) {
      if (within(text, place)) return true;
      if (hasTextBefore(place, control)) return false;
    }
    return false;
  };
  // What else a place shows beside one of its parts: of a list of terms, what explains the term.
  const othersIn = (place, mine) => {
    const parts = Array.from(children(place));
    const from = parts.indexOf(mine) + 1;
    const next = parts.slice(from).findIndex(part => matches(part, 'dt'));
    const near = matches(mine, 'dt') ? parts.slice(from, next < 0 ? undefined : from + next) : parts;
    return near.filter(part => part !== mine && shown(part) && plain(part) !== '');
  };
  // Whether a control comes after this part of the place, with no other text before it.
  const isNext = (place, mine, control) =>
    follows(control, mine) && othersIn(place, mine).every(part => within(control, part) || follows(part, control));
  const beside = (text, root) => {
    let mine = text;
    let others = [];
    for (const place of upFrom(text, root)) {
      const controls = controlsIn(place);
      if (controls.length) {
        const fits = others.length ? isNext(place, mine, controls[0]) : belongs(controls[0], text);
        if (controls.length === 1 && fits) return controls;
        break;
      }
      if (place !== text && !others.length) others = othersIn(place, mine);
      // A term and a cell have what they name in their own list or row.
      if (others.length && matches(mine, 'dt, td, th, [role=cell], [role=rowheader]')) break;
      mine = place;
    }
    return others.length === 1 ? others : [];
  };

  const besideText = (root, el) => (closest(el, CONTROLS) || !shown(el) ? [] : beside(el, root));

  // What fields hold

  const editorText = el => {
    const parts = Array.from(children(el));
    const inBlocks = parts.length > 0 && parts.every(part => matches(part, BLOCKS)) && ownText(el) === '';
    const lines = inBlocks ? parts : [el];
    return lines.map(line => line.innerText.replace(/\n$/, '')).join('\n');
  };
  // The state of a box or switch of the app's own, whichever attribute says it; null for anything else.
  const stateOf = el => {
    if (BOX_ROLES.includes(el.getAttribute('role'))) return el.getAttribute('aria-checked') ?? el.getAttribute('aria-pressed');
    return matches(el, 'button, [role=button]') ? el.getAttribute('aria-pressed') : null;
  };
  // The space that the layout puts around a text is none of it; what a field holds is somebody's own to the last space.
  const trimmed = text => text.replace(/^[ \t\r\n\f]+|[ \t\r\n\f]+$/g, '');
  const value = el => {
    if (el instanceof HTMLSelectElement) return Array.from(el.selectedOptions, option => option.label).join('\n');
    if (isBox(el)) return String(el.checked);
    if (el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement) return el.value;
    const state = stateOf(el);
    if (state !== null) return state;
    return el.isContentEditable ? editorText(el) : trimmed(el.innerText ?? '');
  };
  const isChecked = el => value(el) === 'true';
  const chosenOf = els => radios(els).filter(isChecked).map(labelText).join('\n');
  const isGroup = els => {
    const places = els.map(el => (el.name ? `${el.name} of ${Array.from(document.forms).indexOf(el.form)}` : closest(el, '[role=radiogroup]')));
    return els.length > 1 && els.every(el => matches(el, RADIOS)) && new Set(places).size === 1 && places[0] !== null;
  };
  // In what a list shows, a no-break space is one of the layout's.
  const spaced = text => words(text.replaceAll('\u00a0', ' '));
  const choice = el => {
    if (matches(el, 'input, textarea, select')) return value(el);
    const inner = all(el, 'input').filter(shown);
    return spaced(plain(el, `${NO_TEXT}, label`)) || (inner.length === 1 ? inner[0].value : '');
  };

  // Where the page is

  const top = () => {
    try {
      return window.top.location.href ? window.top : window;
    } catch {
      return window;
    }
  };
  const decoded = text => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  };
  const templateFits = (template, address) => {
    const wanted = template.split('/');
    const given = address.split('/');
    const fits = (pattern, segment) => (pattern === '*' ? segment !== '' : decoded(pattern) === decoded(segment));
    return wanted.length === given.length && wanted.every((pattern, at) => fits(pattern, given[at]));
  };
  const queryFits = ([name, wanted], search) => {
    const given = new URLSearchParams(search).getAll(name);
    // A value that begins like a path is one, in apps that have one address for everything.
    const isPath = wanted.startsWith('/') && wanted.split('/').includes('*');
    const fitting = value => wanted === '*' || value === wanted || (isPath && templateFits(wanted, value));
    return given.length === 1 && fitting(given[0]);
  };
  const began = () => String(top().performance.timeOrigin);
  const fits = gate => {
    const at = top().location;
    return (
      (gate.began === null || began() === gate.began) &&
      at.origin === gate.origin &&
      templateFits(gate.path, at.pathname) &&
      gate.query.every(part => queryFits(part, at.search)) &&
      (gate.fragment === null || templateFits(gate.fragment, at.hash.slice(1)))
    );
  };

  // Lists that open

  const OPENED = Symbol.for('surehand.shown before');
  const optionsOf = (root, label) => {
    const named = all(root, OPTIONS).filter(el => spaced(plain(el)) === label && canBeTaken(el));
    return named.filter(el => !named.some(other => other !== el && within(other, el)));
  };
  const leavesOf = (root, label) =>
    all(root, '*').filter(el => !closest(el, 'select, datalist, script, style') && spaced(ownText(el)) === label);
  const canBeTaken = el => shown(el) && !clipped(el) && closest(el, '[aria-disabled=true]') === null;

  // A field that was read, and stands on a hidden part of the page by now, is still that field.
  const READ = Symbol.for('surehand.read');
  const stillThere = (els, key) => {
    const read = (window[READ] ??= new Map());
    if (els.length) read.set(key, els);
    return (read.get(key) ?? []).filter(el => el.isConnected);
  };

  const GUARD = Symbol.for('surehand.guard');
  const GUARDED = ['pointerdown', 'mousedown', 'click', 'keydown', 'beforeinput', 'input', 'change'];
  const newGuard = () => {
    const guard = { gate: null, last: null, heldBack: false };
    const judge = event => {
      if (guard.gate === null) return;
      if (!fits(guard.gate)) {
        event.stopImmediatePropagation();
        event.preventDefault();
        guard.heldBack = true;
      } else if (event.type === 'pointerdown' || (event.type === 'keydown' && event.key === guard.last)) {
        // The act has begun where it was meant to; where it leads is its own affair.
        guard.gate = null;
      }
    };
    for (const type of GUARDED) window.addEventListener(type, judge, { capture: true });
    return guard;
  };

  const elements = {
    // Selectors: elements below a root, for what stands behind the name of the selector as JSON.

    page: (root, gate) => (fits(gate) ? [document.documentElement] : []),
    shown: root => (isSeen(root) ? [root] : []),
    caption: (root, caption) => {
      const named = all(root, '*').filter(el => ownText(el) === words(caption));
      return Array.from(new Set(named.flatMap(el => besideText(root, el))));
    },
    beside: besideText,
    dialog: root => {
      const open = all(root, DIALOGS).filter(el => shown(el) && !clipped(el));
      const innermost = open.filter(el => !open.some(other => other !== el && within(other, el)));
      const onTop = innermost.filter(el => {
        const { x, y, width, height } = el.getBoundingClientRect();
        const hit = document.elementFromPoint(x + width / 2, y + height / 2);
        return hit !== null && within(hit, el);
      });
      return onTop.length ? onTop : innermost;
    },
    frame: (root, name) => {
      const named = all(root, 'iframe, frame').filter(el => el.title === name || el.name === name);
      return named.filter(shown).length === 1 ? named.filter(shown) : [];
    },
    handle: root => handles(root),
    hand: root => [handOf(root)],
    radio: (root, label) => radios([root]).filter(el => labelText(el) === words(label)),
    option: (root, label) => {
      const before = window[OPENED] ?? new WeakSet();
      const named = optionsOf(root, spaced(label));
      if (named.length) return named;
      return leavesOf(root, spaced(label)).filter(el => !before.has(el) && canBeTaken(el));
    },

    // Questions: asked of all elements that were found at once, so that finding and looking are one moment.

    // All buttons of one group of radio buttons are one field.
    values: els => (isGroup(els) ? [chosenOf(els)] : els.map(el => (matches(el, '[role=radiogroup]') ? chosenOf([el]) : value(el)))),
    // What a field holds, also where it was read before and is not shown any more.
    held: (els, { how, key }) => elements[how](stillThere(els, key)),
    states: els => els.map(value),
    choices: els => els.map(choice),
    chosenRadio: els => (radios(els).length ? [chosenOf(els)] : []),
    optionLabels: els =>
      els.map(el => (el instanceof HTMLSelectElement ? Array.from(el.options, option => option.label) : null)),
    count: els => els.length,
    // Whether the one landmark is there, in which document, and whether an act of ours was held back before; from now
    // on nothing of ours reaches the page at another address.
    place: (els, gate) => {
      const guard = (window[GUARD] ??= newGuard());
      const { heldBack } = guard;
      Object.assign(guard, { gate: els.length === 1 ? { ...gate, began: began() } : null, last: null, heldBack: false });
      return [els.length, began(), heldBack];
    },
    holdsFocus: els => els.every(el => el.contains(rootOf(el).activeElement)) && els.length === 1,
    isLine: els => els.some(el => el instanceof HTMLInputElement),
    covered: els =>
      els.map(el => {
        const box = el.getBoundingClientRect();
        const hit = rootOf(el).elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
        return hit !== null && !el.contains(hit) && !labels(el).some(label => label.contains(hit));
      }),
    links: els => els.flatMap(el => all(el, 'a[href]').filter(a => a.origin === location.origin).map(a => a.pathname + a.search)),

    // Acts that the browser's own input cannot do.

    // From now on nothing reaches the page while its address is another one than the gate's.
    guard: (els, { gate, last }) => {
      Object.assign((window[GUARD] ??= newGuard()), { gate, last });
    },
    // Leave the fields without a key: Tab would take a suggestion in some lists and enter the next field in all.
    leave: els => {
      for (const el of els) el.blur();
      const guard = window[GUARD];
      if (guard) guard.gate = null;
    },
    // Keep which elements show this text before a list is opened.
    remember: (els, label) => {
      window[OPENED] = new WeakSet(els.flatMap(el => leavesOf(el, spaced(label))).filter(shown));
    },
    typing: () => {
      let active = document.activeElement;
      while (active?.shadowRoot?.activeElement) active = shadowRoot(active).activeElement;
      return active !== null && (matches(active, 'input, textarea') || active.isContentEditable);
    },
  };
  return elements;
}
