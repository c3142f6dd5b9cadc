"""What goes around every proxy: datagrams of WebRTC and of QUIC.

Laws of this module:

- A listener on loopback counts what reaches it.
"""

import asyncio
import contextlib

from attrs import frozen
from playwright.async_api import Browser, Error, ProxySettings

from faults.fence_arena import SOON, Servers, until
from support.fence_browser import BrowserBench
from support.fence_rig import rig

_PEER = """port => new Promise(done => {
  const peer = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:' + port}]});
  peer.onicegatheringstatechange = () => peer.iceGatheringState === 'complete' && done();
  peer.createDataChannel('x');
  peer.createOffer().then(offer => peer.setLocalDescription(offer));
})"""
_TRANSPORT = "port => new WebTransport('https://127.0.0.1:' + port + '/').ready.catch(() => 0)"

#: Seconds in which a datagram is read that has come.
_READ = 0.3

#: The ways to send a datagram.
DATAGRAMS = {"WebRTC": _PEER, "WebTransport": _TRANSPORT}


@frozen
class _Counter(asyncio.DatagramProtocol):
    received: list[int]

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """Count."""
        del addr
        self.received.append(len(data))


async def datagrams(browser: Browser, to: Servers, proxy_url: str | None, script: str) -> int:
    """How many datagrams a page of the server sent."""
    received: list[int] = []
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: _Counter(received), local_addr=("127.0.0.1", 0))
    context = await browser.new_context(proxy=None if proxy_url is None else ProxySettings(server=proxy_url))
    try:
        page = await context.new_page()
        await page.goto(f"{to.secure.origin}/page")
        trying = asyncio.ensure_future(page.evaluate(script, transport.get_extra_info("sockname")[1]))
        await until(lambda: received or trying.done(), SOON)
        # What was sent before the page was done is here already, and may be read a moment later.
        await until(lambda: received, _READ)
        trying.cancel()
        with contextlib.suppress(asyncio.CancelledError, Error):
            await trying
    finally:
        await context.close()
        transport.close()
    return len(received)


async def behind(bench: BrowserBench, to: Servers, script: str) -> int:
    """The same, behind the fence and with the arguments of the product."""
    async with rig(bench.fence, server=to.clear, origins=to.origins) as it:
        return await datagrams(bench.browser, to, it.run.proxy_url, script)
