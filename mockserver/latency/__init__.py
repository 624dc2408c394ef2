"""How long things take: profiles of engines, and the pace they give to one generation."""
