"""The MCP server over stdio: frames, a table of tools, and the desk where calls wait."""
