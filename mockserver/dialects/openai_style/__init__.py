"""What the dialects share, since all of them descend from one API: functions, none of which knows a vendor."""
