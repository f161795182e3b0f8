"""Guards against what speech models invent, lose or mistime: pure, over segments and speech spans."""
