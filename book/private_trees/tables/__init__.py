"""Tables that chapters show."""
