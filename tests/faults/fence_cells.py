"""Every way in which a page can write, each as a script: the closed fence stops all of them.

Laws of this module:

- A way writes to paths that end in its own mark, so that an arrival names it.
- What is listed here is tried without a fence first; a way that does not arrive there decides nothing.
"""

from enum import Enum, unique

from attrs import frozen


@unique
class After(Enum):
    """What happens to the page when its script has run."""

    STAYS = "stays"
    CLOSES = "closes"
    CONTEXT_CLOSES = "context_closes"
    LEAVES = "leaves"


@frozen(kw_only=True)
class Way:
    """One way to write.

    Args:
        name: What it is.
        script: A function of ``w``: addresses on the page's origin (``to``, ``poster``, ``fetcher``, ``socketer``,
            ``attachment``), the same on another site (``other``, ``otherPoster``, ``otherFetcher``, ``otherSocketer``),
            sockets (``ws``, ``otherWs``), a script of the server by its text (``code(text)``), and ``blob(text)``.
        after: What happens to the page then.
        page: The page on which it runs, as the first segments of a path; the mark follows.
        secure: Whether the page comes over TLS.
        workers: Whether service workers may be registered, which the product's contexts forbid.
        counted: Whether the fence sees the attempt. Where the browser itself gives up first, it does not.
        driver: Whether the driver sends it itself, beside the page.
        slow: Whether it takes seconds until something comes, if anything does.
    """

    name: str
    script: str = "w => 0"
    after: After = After.STAYS
    page: str = "page"
    secure: bool = False
    workers: bool = False
    counted: bool = True
    driver: bool = False
    slow: bool = False


#: Helpers that every script may use.
PRELUDE = """
const post = (to, more) => fetch(to, {method: 'POST', body: 'x', ...more}).catch(() => 0);
const form = (to, {target = '_self', type = 'application/x-www-form-urlencoded', doc = document, rel = ''} = {}) => {
  const made = Object.assign(doc.createElement('form'), {method: 'post', action: to, target, enctype: type, rel});
  made.innerHTML = '<input name=note value=x>';
  doc.body.append(made);
  made.submit();
};
const frame = attributes => {
  const made = Object.assign(document.createElement('iframe'), attributes);
  if (attributes.box) made.setAttribute('sandbox', attributes.box);
  document.body.append(made);
  return made;
};
const loaded = made => new Promise(done => made.onload = done);
const blob = text => URL.createObjectURL(new Blob([text], {type: 'text/javascript'}));
const code = text => '/script?' + encodeURIComponent(text);
const writes = to => `fetch('${to}', {method: 'POST', body: 'x', mode: 'no-cors'})`;
const speaks = to => `{const s = new WebSocket('${to}'); s.onopen = () => s.send('x')}`;
"""

_FORMS = (
    Way(name="form", script="w => form(w.to)"),
    Way(name="form to another site", script="w => form(w.other)"),
    Way(name="form, target=_blank", script="w => form(w.to, {target: '_blank'})"),
    Way(name="form, target=_blank, noopener", script="w => form(w.to, {target: '_blank', rel: 'noopener'})"),
    Way(name="form, multipart", script="w => form(w.to, {type: 'multipart/form-data'})"),
    Way(name="form, text/plain, to another site", script="w => form(w.other, {type: 'text/plain'})"),
    Way(name="form over TLS", script="w => form(w.to)", secure=True),
    Way(name="form over TLS to another site", script="w => form(w.other)", secure=True),
    Way(name="download started by POST", script="w => form(w.attachment)"),
    Way(
        name="button with its own action",
        script="""w => {
          document.body.innerHTML = `<form><button formmethod=post formaction='${w.to}'></button></form>`;
          document.forms[0].requestSubmit(document.querySelector('button'));
        }""",
    ),
    Way(
        name="form in an iframe",
        script="""async w => {
          const made = frame({src: '/page'}); await loaded(made); form(w.to, {doc: made.contentDocument});
        }""",
    ),
    Way(name="form into an iframe", script="w => { frame({name: 'inner'}); form(w.to, {target: 'inner'}) }"),
    Way(
        name="form in a sandboxed iframe",
        script="""w => frame({box: 'allow-scripts allow-forms', srcdoc:
          `<form method=post action='${w.to}'></form><script>document.forms[0].submit()</script>`})""",
    ),
    Way(
        name="form in a srcdoc iframe",
        script="""w => frame({srcdoc:
          `<form method=post action='${w.to}'></form><script>document.forms[0].submit()</script>`})""",
    ),
    Way(name="form in an iframe of another site", script="w => frame({src: w.otherPoster})"),
    Way(name="fetch in an iframe of another site", script="w => frame({src: w.otherFetcher})"),
)

_SCRIPTS = (
    *(
        Way(name=f"fetch, {method}", script=f"w => post(w.to, {{method: '{method}'}})")
        for method in ("POST", "PUT", "PATCH", "DELETE", "PROPFIND", "patch")
    ),
    Way(name="fetch over TLS", script="w => post(w.to)", secure=True),
    Way(name="fetch, no-cors, to another site", script="w => post(w.other, {mode: 'no-cors'})"),
    Way(name="fetch, cors, to another site", script="w => post(w.other)"),
    Way(
        name="fetch, a read that asks for a write",
        script="w => { fetch(w.to, {headers: {'x-http-method-override': 'PUT'}}) }",
    ),
    Way(
        name="XMLHttpRequest",
        script="w => { const r = new XMLHttpRequest(); r.open('POST', w.to); r.send('x') }",
    ),
    Way(
        name="XMLHttpRequest, synchronous",
        script="w => { const r = new XMLHttpRequest(); r.open('PUT', w.to, false); try { r.send('x') } catch {} }",
    ),
    Way(name="fetch, keepalive", script="w => { post(w.to, {keepalive: true}) }"),
    Way(name="beacon", script="w => { navigator.sendBeacon(w.to, 'x') }"),
    Way(name="beacon to another site", script="w => { navigator.sendBeacon(w.other, 'x') }"),
    Way(name="many at the same time", script="w => { for (let i = 0; i < 20; i++) post(w.to) }"),
)

_AT_THE_END = (
    Way(
        name="beacon in pagehide, page left",
        script="w => addEventListener('pagehide', () => navigator.sendBeacon(w.to, 'x'))",
        after=After.LEAVES,
    ),
    Way(
        name="beacon in pagehide, page closed",
        script="w => addEventListener('pagehide', () => navigator.sendBeacon(w.to, 'x'))",
        after=After.CLOSES,
    ),
    Way(
        name="beacon when hidden, page left",
        script="w => addEventListener('visibilitychange', () => navigator.sendBeacon(w.to, 'x'))",
        after=After.LEAVES,
    ),
    Way(name="beacon, page closed", script="w => { navigator.sendBeacon(w.to, 'x') }", after=After.CLOSES),
    Way(name="keepalive, page closed", script="w => { post(w.to, {keepalive: true}) }", after=After.CLOSES),
    Way(name="keepalive, context closed", script="w => { post(w.to, {keepalive: true}) }", after=After.CONTEXT_CLOSES),
    Way(
        name="beacon of an iframe that is removed",
        script="""async w => {
          const made = frame({src: '/page'}); await loaded(made);
          made.contentWindow.addEventListener('pagehide', () => made.contentWindow.navigator.sendBeacon(w.to, 'x'));
          made.remove();
        }""",
    ),
    Way(name="deferred fetch, page left", script="w => { fetchLater(w.to, {method: 'POST'}) }", after=After.LEAVES),
    Way(name="deferred fetch, page closed", script="w => { fetchLater(w.to, {method: 'POST'}) }", after=After.CLOSES),
    Way(name="deferred fetch, due at once", script="w => { fetchLater(w.to, {method: 'POST', activateAfter: 0}) }"),
)

_WORKERS = (
    Way(name="worker", script="w => { new Worker(code(writes(w.to))) }"),
    Way(name="worker of a blob", script="w => { new Worker(blob(writes(w.to))) }"),
    Way(name="worker of a module", script="w => { new Worker(blob(writes(w.to)), {type: 'module'}) }"),
    Way(name="worker in a worker", script="w => { new Worker(blob(`new Worker('${blob(writes(w.to))}')`)) }"),
    Way(name="shared worker", script="w => { new SharedWorker(code(writes(w.to))) }"),
    Way(name="shared worker of a blob", script="w => { new SharedWorker(blob(writes(w.to))) }"),
    Way(
        name="service worker, first statement",
        script="w => { navigator.serviceWorker.register(code(writes(w.to)), {scope: '/'}).catch(() => 0) }",
        workers=True,
    ),
    Way(
        name="service worker, when active",
        script="""w => { navigator.serviceWorker.register(
          code(`onactivate = event => event.waitUntil(${writes(w.to)})`), {scope: '/'}).catch(() => 0) }""",
        workers=True,
    ),
    Way(
        name="service worker that passes a request on",
        script="""async w => {
          await navigator.serviceWorker.register(
            code('oninstall = () => skipWaiting(); onactivate = event => event.waitUntil(clients.claim());' +
                 'onfetch = event => event.respondWith(fetch(event.request))'), {scope: '/'});
          if (!navigator.serviceWorker.controller)
            await new Promise(done => navigator.serviceWorker.oncontrollerchange = done);
          post(w.to);
        }""",
        workers=True,
    ),
    Way(
        name="WebSocket in a service worker",
        script="w => { navigator.serviceWorker.register(code(speaks(w.ws)), {scope: '/'}).catch(() => 0) }",
        workers=True,
    ),
)

_POPUPS = (
    Way(
        name="popup, written and sent",
        script="""w => {
          const popup = open('about:blank');
          popup.document.write(`<form method=post action='${w.to}'></form>`);
          popup.document.forms[0].submit();
        }""",
    ),
    Way(name="popup of a page that sends", script="w => { open(w.poster) }"),
    Way(name="popup of another site, noopener", script="w => { open(w.otherPoster, '_blank', 'noopener') }"),
    Way(name="six popups at once", script="w => { for (let i = 0; i < 6; i++) open(w.poster + '?' + i) }"),
)

_SOCKETS = (
    Way(name="WebSocket", script="w => { eval(speaks(w.ws)) }"),
    Way(name="WebSocket over TLS", script="w => { eval(speaks(w.ws)) }", secure=True),
    Way(name="WebSocket to another site", script="w => { eval(speaks(w.otherWs)) }"),
    Way(name="WebSocket in an iframe of another site", script="w => { frame({src: w.otherSocketer}) }"),
    Way(name="WebSocket in a worker", script="w => { new Worker(blob(speaks(w.ws))) }"),
    Way(name="WebSocket over TLS in a worker", script="w => { new Worker(blob(speaks(w.ws))) }", secure=True),
    Way(name="WebSocket in a shared worker", script="w => { new SharedWorker(blob(speaks(w.ws))) }"),
)

_BY_THE_BROWSER = (
    Way(name="request of the driver, beside the page", driver=True),
    Way(name="report of a broken policy (report-uri)", page="reporting/uri"),
    Way(name="report of a broken policy (Reporting API)", page="reporting/to", secure=True, slow=True),
    Way(
        name="ping of a link",
        script="w => { document.body.innerHTML = `<a href='#x' ping='${w.to}'>x</a>`; document.links[0].click() }",
        slow=True,
    ),
    Way(
        name="page that is rendered ahead and sends",
        script="""w => {
          const rules = Object.assign(document.createElement('script'), {type: 'speculationrules'});
          const rule = {source: 'list', urls: [w.fetcher], eagerness: 'immediate'};
          rules.textContent = JSON.stringify({prerender: [rule]});
          document.head.append(rules);
        }""",
        secure=True,
        slow=True,
    ),
    Way(
        name="attribution of an image",
        script="w => { document.body.innerHTML = `<img attributionsrc='${w.to}' src='/page'>` }",
        secure=True,
        slow=True,
    ),
)

#: Every way to write.
WAYS = (*_FORMS, *_SCRIPTS, *_AT_THE_END, *_WORKERS, *_POPUPS, *_SOCKETS, *_BY_THE_BROWSER)

#: Reads, which arrive with the fence closed.
READS = (
    Way(name="image", script="w => { new Image().src = w.to }"),
    Way(name="fetch, GET", script="w => { fetch(w.to) }"),
    Way(name="fetch, HEAD", script="w => { fetch(w.to, {method: 'HEAD'}) }"),
    Way(name="form by GET", script="w => { location.href = w.to }"),
    Way(name="read over TLS", script="w => { fetch(w.to) }", secure=True),
    Way(name="event stream", script="w => { new EventSource(w.to) }"),
    Way(name="worker that reads", script="w => { new Worker(blob(`fetch('${w.to}')`)) }"),
    Way(
        name="preload",
        script="""w => { document.head.append(Object.assign(document.createElement('link'),
          {rel: 'preload', as: 'fetch', href: w.to})) }""",
    ),
    Way(
        name="download by GET",
        script="w => { Object.assign(document.createElement('a'), {href: w.attachment, download: 'x'}).click() }",
    ),
)
