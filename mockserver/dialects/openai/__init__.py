"""What the dialects share, all of which descend from OpenAI's API: functions, none of which knows a vendor."""
