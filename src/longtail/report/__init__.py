"""(in preparation)"""
