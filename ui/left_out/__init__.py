"""What may be left out of attention, and what does it change in the output?"""
