"""The page *At work*: what does a gate change in models that read text?"""
