"""What was, asked for when something happens: history next to an event, and past events like it."""
