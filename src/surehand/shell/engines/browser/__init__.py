"""The browser engine: replays a compiled workflow in Chromium, behind the write fence, in a process of its own.

``page`` performs the commands on a page: ``viewing`` looks at it, ``finding`` and ``elements.js`` find what is meant,
``acting`` enters and clicks, ``dialogs`` and ``traffic`` watch what happens by itself. ``telling`` and ``naming.js``
are for whoever asks what a page shows and how a run would find it: the recorder, and goals. ``readback`` reads the
records over another channel: ``json_records``, ``page_records`` or ``database_records``. ``account`` is the session of
a run.
``chromium`` finds the browser, ``engine`` drives the replay machine, ``worker`` is the process that owns the runs
(``duty`` is what it does), ``messages`` is what it hears and says, and ``executor`` talks to it.
"""
