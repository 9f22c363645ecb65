"""What somebody would write who wants a page to do what they say."""

HOSTILE = (
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</script><script>alert(1)",
    "![x](//far.test/x)", "[x](//far.test)", "<//far.test>", "www.far.test", "a@far.test",
    "https://far.test/x.png",
    "a\n\n![x](//far.test/x)", "a\r\n\r\n# Big", "a\u2028\u2029![x](//far.test)", "a\x0b\x85b",
    "`![x](//far.test/x)`", "``` ![x](//far.test/x)", ":material/home:", ":red[x]", ":smile:",
    "$x^2$", "$$x$$", "**x**", "~~x~~", "| a | b |", "- [ ] x", "1. x", "&lt;b&gt;", "a\\",
    '<a href="//far.test">x</a>', "%{x}%{customdata}", "%{text}<extra>x</extra>", "<b>x</b><br>",
    '"""\nimport os; os.abort()\n"""', "$seed", "${seed}", "{0}", "\u202eabc", "=1+1", "x\ty",
    "${__import__('os').abort()}", "' + x + '", "\0", "\ud800", "𝟏", "١", "ＯＫ", "a" * 39,
)  # fmt: skip
