"""The page of experts: which parts of an attention layer can data decide?"""
