"""The write fence: a small forward proxy in its own process, and the only sender of writes.

Laws of this package:

- Nothing reaches the network but through the fence. It is closed unless it is told otherwise, and closed when dead.
- A write is sent once, on a connection of its own, after its journal line. It is never sent again.
- Addresses, headers and contents pass through memory only. What stays is counts and the stages of the one save.
- ``client`` is the way in. Nothing is imported here, since the process and its client need different things.
"""
