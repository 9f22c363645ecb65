"""The page Mixture of experts: which parameters of an attention layer can data determine?"""
