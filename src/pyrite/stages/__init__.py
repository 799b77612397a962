"""From what is asked to the stages that do it: the plan of a run, and its price."""
