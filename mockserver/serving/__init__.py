"""The edge, where plans are performed: the ASGI application, the player, the admin API, and the servers around them."""
