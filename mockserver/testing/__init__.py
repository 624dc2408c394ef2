"""What tests hold in their hands: a handle on one namespace of a server, in this process or elsewhere."""
