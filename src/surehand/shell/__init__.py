"""The imperative shell: it does.

Laws of this package:

- A module does one kind of effect and hands facts to ``surehand.core``.
- If a function here would need an ``if`` about what an outcome means, the ``if`` belongs in core.
- Nothing heavy is imported before it is needed: no mcp, playwright, rich or starlette at the top of a module that
  others import.
"""
