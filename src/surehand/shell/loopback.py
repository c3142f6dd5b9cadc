"""A small web server of our own, on loopback.

Laws of this module:

- It logs nothing: what a page is asked for may hold what was typed.
- It ends within a second or so; a request that hangs does not hold it up.
"""

import logging

import uvicorn
from starlette.types import ASGIApp


def web_server(app: ASGIApp) -> uvicorn.Server:
    """The server of an app; whoever runs it gives it sockets on loopback.

    Args:
        app: The app.
    """
    logging.getLogger("uvicorn").addHandler(logging.NullHandler())
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        loop="asyncio",
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)
