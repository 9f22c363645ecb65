"""Can one feature of a language model change the language that it writes?

>>> model, _ = load_model("none", 0)
>>> dictionaries = load_dictionaries("none", 0)
>>> kind = dictionaries.kinds["means"]
>>> feature = kind.statistics.language_feature(layer=0, spanish=True)
>>> push = 4 * dictionaries.gap[0].norm() * kind.dictionary.directions[0, feature]
>>> prompt = encode("And God said to ")[None]
>>> written = write_steered(model, prompt, Steering(0, push, released_after=16), seed=0)
>>> decode(torch.cat(list(written)))
"""
