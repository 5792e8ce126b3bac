# ruff: noqa: E501, RUF001 (texts as people write them)
"""A vault as Obsidian keeps it, in German, Arabic and Chinese: every kind of link, embed, callout and property."""

from __future__ import annotations

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="480" height="160" viewBox="0 0 480 160">'
    '<rect width="480" height="160" fill="#cfe3ea"/><path d="M0 110q60-40 120 0t120 0t120 0t120 0v50H0z" fill="#0b5a78"/></svg>'
)
_LINES = "\n".join(
    f"{number}. Der {number}. Schritt der Übergabe, mit [[Gezeiten]] und `tide {number}`." for number in range(1, 13)
)

FILES: dict[str, str | bytes] = {
    ".obsidian/app.json": '{"newLinkFormat": "shortest", "attachmentFolderPath": "Anlagen"}',
    "Start.md": (
        "---\naliases: [Anfang, Übersicht]\ntags: [karte]\nlang: de\n---\n"
        "Der Hafen in drei Sprachen: [[Hafenordnung]], [[ميناء]] und [[港口]].\n\n"
        "- [[Gezeiten#Springflut|Springflut]]\n- [[Donaudampfschifffahrtsgesellschaft]]\n- [[Noch nicht geschrieben]]\n"
    ),
    "Betrieb/Hafenordnung.md": (
        "---\naliases: [Ordnung]\ntags: [regeln/hafen, regeln/sicherheit]\nstatus: gültig\nstand: 2026-03-01\n"
        'siehe: "[[Gezeiten]]"\nquelle: https://example.org/ordnung\nlotsen: [Öztürk, Groß]\nnachts: true\n---\n'
        "# Hafenordnung\n\nJedes Schiff meldet sich beim [[Lotse|Lotsen]]. ==Wichtig:== die Größe in Metern. #regeln\n\n"
        "> [!warning] Nachts\n> Ohne Lotsen keine Einfahrt, siehe [[Gezeiten#Springflut]].\n\n"
        "> [!faq]- Und bei Sturm?\n> Dann warten alle vor der Mole.\n\n"
        "> [!quote]\n> Wer wartet, kommt an.\n\n"
        "## Anmeldung\n\n- [x] Papiere\n- [ ] Gebühr $g = 12{,}5 \\cdot l$\n- [/] halb\n\n"
        "![[Hafenplan.svg|320]]\n\n| Platz | Tiefe in Metern | für |\n|:--|--:|:-:|\n| Kai 1 | 8,5 | [[Lotse\\|Lotsen]] |\n"
        "| Kai 2 | 12 | Fracht |\n\n## Übergabe\n\n" + _LINES + "\n\n"
        '```python\ndef tiefe(liegeplatz: str) -> float:  # in Metern\n    return {"Kai 1": 8.5}[liegeplatz]\n```\n\n'
        "$$\nT = \\sum_{i=1}^{n} \\frac{h_i}{2}\n$$\n\n```mermaid\ngraph LR\n  Anmeldung --> Lotse --> Kai\n```\n\n"
        "Ein Satz mit Fußnote.[^1] Noch einer.[^eins] ^schluss\n\n[^1]: Die Fußnote.\n[^eins]: Auch eine.\n\n"
        "## Anlagen\n\n![[Gezeiten#Springflut]]\n\n![[Nebelhorn.mp3]]\n\n![[Einfahrt.mp4]]\n\n![[Plan.pdf]]\n\n![[Fehlt.png]]\n"
    ),
    "Betrieb/Lotse.md": "---\naliases: [Lotsin]\n---\nDer Lotse kennt die [[Hafenordnung]] und die Gezeiten.\n",
    "Betrieb/Gezeiten.md": (
        "Ebbe und Flut.\n\n## Springflut\n\nBei Vollmond steigt das Wasser höher als sonst. Dann gilt die Hafenordnung.\n\n"
        "## Nippflut\n\nBei Halbmond.\n"
    ),
    "Betrieb/Donaudampfschifffahrtsgesellschaft.md": (
        "# Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen\n\n"
        "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz und https://example.org/"
        + "lang"
        * 30
        + "\n\n"
        "`" + "ohne_umbruch_" * 12 + "`\n"
    ),
    "عربي/ميناء.md": (
        "---\naliases: [الميناء]\ntags: [موانئ/كبيرة]\nالمدينة: الإسكندرية\nرابط: https://example.org/port\n---\n"
        "# الميناء القديم\n\nيقع الميناء على البحر المتوسط، انظر [[مد وجزر]] و[[Hafenordnung]] و[[港口|الميناء الصيني]].\n\n"
        "> [!tip] نصيحة\n> اقرأ `config.yaml` قبل الدخول.\n\n> اقتباس قصير من كتاب قديم.\n\n"
        "## الرسوم\n\n1. السفن الصغيرة\n2. السفن الكبيرة\n   - مع مرشد\n   - بدون مرشد\n\n- [x] تم الدفع\n- [ ] ينتظر\n\n"
        "| السفينة | الطول | الرسم |\n|---|--:|:-:|\n| نور | 12 | 40 € |\n| Anna-Lena | 30 | 95 € |\n\n"
        "```python\nx = 1  # تعليق\n```\n\nجملة مع حاشية.[^1]\n\n[^1]: نص الحاشية.\n\n## البوابة\n\nرقم الهاتف: +20 3 555 0100.\n"
    ),
    "عربي/مد وجزر.md": "المد يرفع الماء والجزر يخفضه، كما في [[ميناء]].\n",
    "中文/港口.md": (
        "---\naliases: [旧港]\ntags: [港口/管理]\n地点: 上海\n---\n# 港口手册\n\n所有船只必须先联系引航员，参见[[潮汐]]、[[Hafenordnung]]和[[ميناء]]。\n\n"
        "> [!note] 注意\n> 夜间不得单独进港。\n\n## 泊位\n\n| 泊位 | 水深 |\n|---|--:|\n| 一号 | 8.5 米 |\n\n"
        "1. 登记\n2. 缴费\n\n## 联系\n\n电话 +86 21 5550 0100。\n"
    ),
    "中文/潮汐.md": "潮汐每天两次，参见[[港口#泊位]]。\n",
    "Kaputt.md": "---\ntags: [a\nstatus: offen\n---\n# Kaputt\n\nDer Text steht trotzdem da.\n",
    "Bytes.md": b"# Bytes\n\nKein UTF-8: \xff\xfe\x80 und weiter.\n",
    "Sonder/100% #1 & 'so' (neu)?.md": "# Sonderzeichen\n\nEin Name mit allem.\n",
    "Anlagen/Hafenplan.svg": SVG,
    "Anlagen/Plan.pdf": b"%PDF-1.4\n%%EOF\n",
    "Anlagen/Nebelhorn.mp3": b"ID3\x03\x00\x00\x00\x00\x00\x00",
    "Anlagen/Einfahrt.mp4": b"\x00\x00\x00\x18ftypmp42",
    "Anlagen/Unbenutzt.pdf": b"%PDF-1.4\n%%EOF\n",
}
