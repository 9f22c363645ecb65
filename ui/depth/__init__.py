"""The page of depth: how does curvature add up, layer by layer?"""
