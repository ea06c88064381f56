"""Three-letter language codes (ISO 639-3) of evaluation sets as the codes that Wikipedia uses."""

from __future__ import annotations

# The languages of the Tatoeba set of LASER (Artetxe and Schwenk 2019) and XTREME, and a few more.
# Codes that are absent here are the same in both. Wikipedia's zh-yue is yue here, because a hyphen stands
# between the languages of a pair.
WIKIPEDIA = dict(
    pair.split(":")
    for pair in (
        "afr:af amh:am ara:ar arb:ar arg:an asm:as aze:az azj:az bak:ba bel:be ben:bn bos:bs "
        "bre:br bul:bg cat:ca ces:cs cha:ch che:ce chv:cv cmn:zh cor:kw cym:cy dan:da deu:de "
        "ekk:et ell:el eng:en epo:eo est:et eus:eu fao:fo fas:fa fin:fi fra:fr fry:fy gla:gd "
        "gle:ga glg:gl grn:gn gsw:als guj:gu hat:ht hau:ha heb:he hin:hi hrv:hr hun:hu hye:hy "
        "ibo:ig ido:io ile:ie ina:ia ind:id isl:is ita:it jav:jv jpn:ja kan:kn kat:ka kaz:kk "
        "khk:mn khm:km kin:rw kir:ky kor:ko kur:ku lao:lo lat:la lav:lv lit:lt ltz:lb lvs:lv "
        "mal:ml mar:mr mkd:mk mlg:mg mlt:mt mon:mn mri:mi msa:ms mya:my nep:ne nld:nl nno:nn "
        "nob:no nor:no npi:ne oci:oc ori:or ory:or pan:pa pes:fa plt:mg pnb:pnb pol:pl por:pt "
        "pus:ps ron:ro run:rn rus:ru san:sa sin:si slk:sk slv:sl sna:sn som:so spa:es sqi:sq "
        "srd:sc srp:sr sun:su swa:sw swe:sv swh:sw tam:ta tat:tt tel:te tgk:tg tgl:tl tha:th "
        "tir:ti tuk:tk tur:tr uig:ug ukr:uk urd:ur uzb:uz uzn:uz vie:vi vol:vo wln:wa wol:wo "
        "xho:xh ydd:yi yid:yi yor:yo yue:yue zho:zh zsm:ms zul:zu"
    ).split()
)


def wikipedia_code(code: str) -> str:
    """'deu' -> 'de', 'cmn' -> 'zh'; a code that is not in the table is returned unchanged."""
    return WIKIPEDIA.get(code, code)
