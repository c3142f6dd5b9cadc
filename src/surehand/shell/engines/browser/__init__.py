"""The browser engine: replays a compiled workflow in Chromium, behind the write fence, in a process of its own.

``page`` performs the commands on a page, ``readback`` reads the records over another channel, ``chromium`` finds the
browser, ``engine`` drives the replay machine, ``worker`` is the process that owns the runs (``duty`` is what it does),
``messages`` is what it hears and says, and ``executor`` talks to it.
"""
