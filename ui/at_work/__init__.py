"""The page *At work*: what does a gate do on models that read text?"""
