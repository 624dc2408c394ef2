"""What determines an answer: settings, routes, stubs, quotas, faults, and the plan made from them."""
