"""What nodes are made of: components, the fabric graph, paths through it."""
