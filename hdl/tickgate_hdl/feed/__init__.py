"""Messages to book events."""
