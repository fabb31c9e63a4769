"""What is refused: declarations, models that lack a part, and starts that are not finite."""
