"""The web console: an HTTP API over one engine, and a page. FastAPI and uvicorn come with `presage[console]`."""
