"""The server side, where plans are performed: the ASGI application, the player, the admin API, and the servers."""
