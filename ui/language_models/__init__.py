"""The page *Language models*: what does a gate change in models that read text?"""
