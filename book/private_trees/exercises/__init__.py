"""What checks the exercises of the chapters."""
