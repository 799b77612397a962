"""What of an episode a judge may see, packed once for all judges."""
