"""The page Efficient attention: what is lost when attention reads fewer keys?"""
