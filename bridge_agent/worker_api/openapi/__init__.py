"""The OpenAPI 3.1 document of everything that programs speak to: both worker wires, the server, the page."""
