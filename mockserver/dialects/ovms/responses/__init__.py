"""The Responses API of OpenVINO Model Server: its input items, its checks, and its answers."""
