"""What makes and checks the pages: claims, notebooks, figures that move, the printed book."""
