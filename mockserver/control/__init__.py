"""What decides an answer: settings, routes, and the plan that is made of them."""
