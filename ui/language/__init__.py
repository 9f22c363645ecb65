"""What do pages share that show a language model and a text that it reads?"""
