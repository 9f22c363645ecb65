"""Three texts in the public domain that the bundled model reads."""

from __future__ import annotations

TEXTS = {
    "Moby-Dick": (
        "Call me Ishmael. Some years ago, never mind how long precisely, having little or no money"
        " in my purse, and nothing particular to interest me on shore, I thought I would sail about"
        " a little and see the watery part of the world. It is a way I have of driving off the"
        " spleen and regulating the circulation. Whenever I find myself growing grim about the"
        " mouth; whenever it is a damp, drizzly November in my soul; whenever I find myself"
        " involuntarily pausing before coffin warehouses, and bringing up the rear of every funeral"
        " I meet; and especially whenever my hypos get such an upper hand of me, that it requires a"
        " strong moral principle to prevent me from deliberately stepping into the street, and"
        " methodically knocking people's hats off, then, I account it high time to get to sea as"
        " soon as I can. This is my substitute for pistol and ball. With a philosophical flourish"
        " Cato throws himself upon his sword; I quietly take to the ship. There is nothing"
        " surprising in this. If they but knew it, almost all men in their degree, some time or"
        " other, cherish very nearly the same feelings towards the ocean with me."
    ),
    "A Tale of Two Cities": (
        "It was the best of times, it was the worst of times, it was the age of wisdom, it was the"
        " age of foolishness, it was the epoch of belief, it was the epoch of incredulity, it was"
        " the season of Light, it was the season of Darkness, it was the spring of hope, it was the"
        " winter of despair, we had everything before us, we had nothing before us, we were all"
        " going direct to Heaven, we were all going direct the other way. In short, the period was"
        " so far like the present period, that some of its noisiest authorities insisted on its"
        " being received, for good or for evil, in the superlative degree of comparison only."
    ),
    "Alice in Wonderland": (
        "Alice was beginning to get very tired of sitting by her sister on the bank, and of having"
        " nothing to do: once or twice she had peeped into the book her sister was reading, but it"
        " had no pictures or conversations in it, and what is the use of a book, thought Alice,"
        " without pictures or conversations? So she was considering in her own mind, as well as she"
        " could, for the hot day made her feel very sleepy and stupid, whether the pleasure of"
        " making a daisy-chain would be worth the trouble of getting up and picking the daisies,"
        " when suddenly a White Rabbit with pink eyes ran close by her."
    ),
}
TOKENS = 64  # of each, [CLS] and [SEP] among them
