"""Web pages for people: the face at `/` of the HTTP server."""
