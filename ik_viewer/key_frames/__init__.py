"""Key frames on the page: poses that are dragged, kept, played and saved as a motion."""
