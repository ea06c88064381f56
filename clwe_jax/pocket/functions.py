"""Function words and their translations, which large bilingual dictionaries list too."""

from __future__ import annotations

import itertools

# One line a word: en | de | es | fr | ja | zh, alternatives separated by spaces.
TABLE = """
the | der die das den dem des | el la los las | le la les | - | -
a an | ein eine einen einem einer | un una | un une | 一 | 一
this | dieser diese dieses diesen diesem | este esta | ce cet cette | この | 这
these | diese diesen dieser | estos estas | ces | この | 这
my | mein meine meinen meinem meiner | mi mis | mon ma mes | 私 | 我
our | unser unsere unseren unserem | nuestro nuestra nuestros nuestras | notre nos | 私たち | 我们
his | sein seine seinen seinem seiner | su sus | son sa ses | 彼 | 他
her | ihr ihre ihren ihrem ihrer | su sus | son sa ses | 彼女 | 她
i | ich | yo | je | 私 | 我
we | wir | nosotros | nous | 私たち | 我们
he | er | él | il | 彼 | 他
she | sie | ella | elle | 彼女 | 她
they | sie | ellos ellas | ils elles | 彼ら 彼女たち | 他们 她们
and | und | y e | et | と | 和 而
but | aber | pero | mais | が | 但是
not | nicht kein keine keinen | no | pas | - | 不 没
in | in im ins | en | dans en | - | 里
on | auf | sobre en | sur | 上 | 上
at | an am in | en | à au | - | 在
with | mit | con | avec | - | 用
under | unter | debajo | sous | 下 | 下面
beside | neben | lado | côté | 隣 | 旁边
behind | hinter | detrás | derrière | 後ろ | 后面
to | zu zum zur | a al | à au | - | 给 到
than | als | que | que | より | 比
more | mehr | más | plus | より | 比
many | viele vielen | muchos muchas | beaucoup | 多く | 很多
is | ist | es está | est | です あります います | 是
are | sind | son están | sont | です あります います | 是
was | war | era estaba | était | でした ありました いました | -
were | waren | eran estaban | étaient | でした ありました いました | -
when | wenn als | cuando | quand | とき | 时候
if | wenn | si | si | なら | 如果
because | weil | porque | parce | から | 因为
that | dass | que | que | と | -
will | wird werden | va van | va vont | - | 会
who | wer | quién | qui | 誰 | 谁
what | was | qué | que | 何 | 什么
where | wo | dónde | où | どこ | 哪里
there | da | hay había | y avait | - | 有
of | des der | de del | de du | の | 的
front | vor | delante | devant | 前 | 前面
every | jeden | cada | chaque | - | 每
"""
# English word of a row -> Japanese case particles. They link words and stand in no dictionary: in the
# manual links of the Kyoto corpus (Neubig 2011) three of four に and で are linked, and one of twelve は.
_PARTICLES = {"in": ("に", "で"), "at": ("に", "で"), "to": ("に",), "with": ("で",)}
COLUMNS = ("en", "de", "es", "fr", "ja", "zh")


def rows() -> list[dict[str, tuple[str, ...]]]:
    """The table, one dict an entry: language -> words, () where the language has none."""
    entries = []
    for line in TABLE.strip().splitlines():
        row = {}
        for language, cell in zip(COLUMNS, line.split("|"), strict=True):
            row[language] = tuple(word for word in cell.split() if word != "-")
        entries.append(row)
    return entries


def list_links(source: str, target: str) -> list[tuple[str, str]]:
    """The pairs of function words that a word alignment links: `pairs`, and Japanese case particles."""
    links = pairs(source, target)
    for row in rows():
        particles = [_PARTICLES.get(word, ()) for word in row["en"]]
        row["ja"] = tuple(itertools.chain(*particles))
        if "ja" in (source, target):
            links += itertools.product(row[source], row[target])
    return links


def pairs(source: str, target: str) -> list[tuple[str, str]]:
    """All pairs of function words between two languages."""
    word_pairs: list[tuple[str, str]] = []
    for row in rows():
        word_pairs += itertools.product(row[source], row[target])
    return word_pairs
