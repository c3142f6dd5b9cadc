"""The functional core: it decides.

Laws of this package:

- Values in, values out. No clock, no randomness, no environment, no file, no socket, no log.
- Time, nonces, keys and identities are arguments.
- It imports the pure parts of the standard library, attrs, cattrs, returns and cryptography's primitives, nothing else;
  a test holds the list.
- It never imports ``surehand.shell``.
"""
