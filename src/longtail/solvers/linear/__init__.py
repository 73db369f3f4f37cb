"""Linear problems with an l1 or l2 penalty, solved in blocks."""
