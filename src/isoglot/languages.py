"""Guessing the language of a file from its name: one guesser for everything that reads files.

`wiki.fr.vec`, `cc.de.300.bin`, `tatoeba.deu-eng.deu` and `en-fr.txt` name theirs; `this-is-it.vec` does not. A
three-letter code becomes the two-letter one where that exists (ISO 639). A guess is only a label, and every command
lets you override it.
"""

from __future__ import annotations

import re
from pathlib import PurePath


def short_code(code: str) -> str:
    """The two-letter code of a language, its three-letter code if it has no other, "" if unknown.

    >>> short_code("deu"), short_code("ger"), short_code("DE"), short_code("ceb"), short_code("vec")
    ('de', 'de', 'de', 'ceb', '')
    """
    code = code.lower()
    return code if code in _TWO or code in _THREE else _TO_TWO.get(code, "")


def guess_language(name: str | PurePath) -> str:
    """The language that a file name shows, or "".

    The last part between dots that is a code decides; else a code at the start or end of a hyphenated part. Codes such
    as "it" and "no", which are also words, count there only at the end and after "wiki" or similar.

    >>> [guess_language(name) for name in ("data/cc.fr.300.vec.gz", "tatoeba.deu-eng.deu", "vectors-en.txt")]
    ['fr', 'de', 'en']
    >>> [guess_language(name) for name in ("this-is-it.vec", "wiki-it.vec", "en-fr.txt")]
    ['', 'it', '']
    """
    parts = _parts(name)
    # A word such as "my" at the start of a name is not a code: my.vectors.txt.
    for number, part in reversed(list(enumerate(parts))):
        code = _whole(part)
        if code and (number > 0 or len(parts) == 1 or part not in _WORDS) and _plausible(part, parts):
            return code
    if guess_pair(name) != ("", ""):
        return ""
    codes = {code for part in parts if (code := _joined(part))}
    return codes.pop() if len(codes) == 1 else ""


def guess_pair(name: str | PurePath) -> tuple[str, str]:
    """The two languages that a file name shows, in this order, or two empty strings.

    >>> guess_pair("muse/en-fr.5000-6500.txt"), guess_pair("tatoeba.deu-eng.deu"), guess_pair("so-to-say.txt")
    (('en', 'fr'), ('de', 'en'), ('', ''))
    """
    for part in reversed(_parts(name)):
        pieces = re.split("[-_]", part)
        if len(pieces) == 2 and not _whole(part):
            first, second = map(short_code, pieces)
            if first and second and first != second and not _WORDS.issuperset(pieces):
                return first, second
    return "", ""


def _parts(name: str | PurePath) -> list[str]:
    """The parts between dots, without format endings and numbers."""
    parts = [part for part in PurePath(name).name.lower().split(".") if part]
    return [part for part in parts if part not in _ENDINGS and not re.fullmatch(r"v?[0-9]+[a-z]?", part)]


def _whole(part: str) -> str:
    """The language of "de", "deu", "zh-hant", "pt_br" or "eng_latn"."""
    code, _, rest = part.replace("_", "-").partition("-")
    return short_code(code) if part == code or rest in _SCRIPTS or f"{code}-{rest}" in _LOCALES else ""


def _plausible(part: str, parts: list[str]) -> bool:
    """Whether a three-letter word is meant as a code: `wiki.war.vec`, `tatoeba.cat-eng.cat`."""
    if part not in _WORDS or len(part) == 2:
        return True
    return any(other in _SOURCES or part in re.split("[-_]", other) for other in parts if other != part)


def _joined(part: str) -> str:
    """The language of "vectors-en" or "wiki_it"."""
    pieces = [piece for piece in re.split(r"[-_ ]", part) if not re.fullmatch(r"v?[0-9]*[a-z]?", piece)]
    for piece, before, after in zip(pieces, ["", *pieces], [*pieces[1:], ""], strict=False):
        if piece in _WORDS:
            is_code = before in _SOURCES and not after
        else:
            is_code = before in _SOURCES or after in _SOURCES or (len(piece) == 2 and not (before and after))
        if is_code and (code := short_code(piece)):
            return code
    return ""


#: Two-letter codes and what ISO 639-2 and 639-3 call the same language (or its standard variety).
_CODES = """
aa=aar ab=abk ae=ave af=afr ak=aka am=amh an=arg ar=ara,arb as=asm av=ava ay=aym az=aze,azj ba=bak be=bel bg=bul
bh=bih bi=bis bm=bam bn=ben bo=bod,tib br=bre bs=bos ca=cat ce=che ch=cha co=cos cr=cre cs=ces,cze cu=chu cv=chv
cy=cym,wel da=dan de=deu,ger dv=div dz=dzo ee=ewe el=ell,gre en=eng eo=epo es=spa et=ekk,est eu=baq,eus
fa=fas,per,pes,prs ff=ful fi=fin fj=fij fo=fao fr=fra,fre fy=fry ga=gle gd=gla gl=glg gn=grn,gug gu=guj gv=glv
ha=hau he=heb hi=hin ho=hmo hr=hrv ht=hat hu=hun hy=arm,hye hz=her ia=ina id=ind ie=ile ig=ibo ii=iii ik=ipk io=ido
is=ice,isl it=ita iu=iku ja=jpn jv=jav ka=geo,kat kg=kon ki=kik kj=kua kk=kaz kl=kal km=khm kn=kan ko=kor kr=kau
ks=kas ku=kur kv=kom kw=cor ky=kir la=lat lb=ltz lg=lug li=lim ln=lin lo=lao lt=lit lu=lub lv=lav,lvs mg=mlg,plt
mh=mah mi=mao,mri mk=mac,mkd ml=mal mn=khk,mon mr=mar ms=may,msa,zsm mt=mlt my=bur,mya na=nau nb=nob nd=nde
ne=nep,npi ng=ndo nl=dut,nld nn=nno no=nor nr=nbl nv=nav ny=nya oc=oci oj=oji om=orm or=ori,ory os=oss pa=pan pi=pli
pl=pol ps=pus pt=por qu=que,quy rm=roh rn=run ro=ron,rum ru=rus rw=kin sa=san sc=srd sd=snd se=sme sg=sag sh=hbs
si=sin sk=slk,slo sl=slv sm=smo sn=sna so=som sq=alb,sqi sr=srp ss=ssw st=sot su=sun sv=swe sw=swa,swh ta=tam te=tel
tg=tgk th=tha ti=tir tk=tuk tl=tgl tn=tsn to=ton tr=tur ts=tso tt=tat tw=twi ty=tah ug=uig uk=ukr ur=urd uz=uzb,uzn
ve=ven vi=vie vo=vol wa=wln wo=wol xh=xho yi=ydd,yid yo=yor za=zha zh=chi,cmn,zho zu=zul
"""
_TO_TWO = {long: entry[:2] for entry in _CODES.split() for long in entry[3:].split(",")}
_TWO = frozenset(entry[:2] for entry in _CODES.split())
#: Languages with a Wikipedia, or in Tatoeba, that have no two-letter code.
_THREE = frozenset(
    """
    ace ady als ang arc arq ary arz ast awa bar bcl ber bho bpy bxr cbk cdo ceb chr chy ckb crh csb diq dsb dtp eml
    fil frp frr fur gag gan glk gom gor got grc gsw hak haw hif hil hsb ilo inh jam jbo kab kbd kbp koi krc ksh kzj
    lad lbe lez lfn lij lmo ltg mai mhr mrj mwl myv mzn nah nan nap nds nov nrm nso olo orv pag pam pap pcd pcm pdc
    pfl pms pnb pnt rmy rue sah sat scn sco sgs stq swg szl tcy tet tpi tum tyv tzl udm vep vls vro war wuu xal xmf
    yue zea zza
""".split()
)
#: Codes that are English words, or parts of names.
_WORDS = frozenset(
    """
    am an as be bi co do he hi ho id ie in io is it la lo me mi my na no om or os pa pi ps so st su ta te ti to ts tv us
    ve we bar ben cat che cor dan est fin hat her ice ile kin mac man mar may min mon nan nap new nor pan pam per pol
    que run sag sin slo som son sun tam tat tel ton war
    """.split()
)
#: Names of collections, and words for what is in a file.
_SOURCES = frozenset(
    """
    wiki wikipedia cc crawl news vectors vec vecs embeddings embedding fasttext glove muse word2vec w2v numberbatch
    corpus europarl opensubtitles tatoeba multi30k ccmatrix opus text texts oscar leipzig newstest flores wikiann
    """.split()
)
_ENDINGS = frozenset(
    """
    vec vecs txt text bin ftbin glove w2v kv npz npy safetensors tar gz xz zst bz2 zip tsv csv tok conll conllu json
    jsonl sgm tmx xml lex dict model
    """.split()
)
_SCRIPTS = frozenset("hans hant latn cyrl arab deva hebr jpan hang kore grek thai".split())
_LOCALES = frozenset("pt-br zh-tw zh-cn zh-hk zh-sg en-us en-gb es-mx".split())
