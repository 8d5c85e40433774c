"""What commands share: the command tree, options, output, and studies that they open."""
