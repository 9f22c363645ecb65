"""The section on proved curvature, which several pages share: where is the sign of K proved?"""
