"""The MCP server: tools by which an agent or an editor drives loops. It asks operations and has no rules of its own."""
