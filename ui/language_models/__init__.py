"""The page *Should I gate?*: what does a gate change in models that read text, and at what cost?"""
