# Builds the initial home: runs once, in an empty home that is also the working directory.
# The files of task.json are laid in afterwards. Keep it free of clocks, networks and chance.
mkdir -p Documents
