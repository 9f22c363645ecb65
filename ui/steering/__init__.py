"""The page Steering: can one feature change the language?"""
