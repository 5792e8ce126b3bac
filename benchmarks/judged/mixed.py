"""A judged set of mixed-script text: Chinese and Japanese pages with product names, versions, dates and chapters.

The pages are made from sentences of this module with a fixed seed. Each question names a product and one fact that only
one page states of it, as people type or copy such text: with blanks, in quotes, or as a piece of a sentence.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from benchmarks.judged.sets import JudgedSet, Question

NAME = "mixed"
PRODUCTS = (
    "Velora", "Kantor", "Mibase", "Tresk", "OpenHafen", "Pilotix", "Quanda", "Rollo", "Semaform", "Tidewell", "Umbra9",
    "Virelay", "Wharf.js", "Xeno", "Yarrow", "Zephyr", "Anvil", "Brix", "Cobalt", "Dorado", "Ember", "Fjord", "Gantry",
    "Helio", "Indigo",
)  # fmt: skip
PAGES_EACH = 16
"""Number of pages about each product, half of them Chinese; a question must distinguish them."""
QUESTIONS = 200
_SENTENCES = {
    "zh": (
        "本页使用{name}{version}编写",
        "{date}发布了{name}{version}正式版",
        "第{chapter}章介绍{name}的安装方法",
        "从{name}{version}开始支持自动备份",
        "请在{date}之前升级服务器",
        "详细步骤见手册第{chapter}章",
    ),
    "ja": (
        "{name}{version}の設定を{date}に変更しました",
        "第{chapter}章では{name}の導入手順を説明します",
        "{date}に{name}{version}を公開しました",
        "この頁は{name}で書かれています",
        "詳しくは第{chapter}章をご覧ください",
        "{name}{version}から自動保存に対応します",
    ),
}
_FILLERS = {
    "zh": (
        "服务器重启以后请检查日志",
        "如果出现错误可以恢复上一个备份",
        "管理员负责定期更新证书",
        "用户可以在设置中更改语言",
    ),
    "ja": (
        "サーバーを再起動してからログを確認します",
        "問題があれば前の状態に戻してください",
        "証明書は毎年更新します",
        "言語は設定画面で変更できます",
    ),
}
_QUERIES = (
    "{name} {version}",
    '{name} "{date}"',
    "{name} 第{chapter}章",
    "{name}{version}",
    "{date} {name}",
    "{piece}",
)


def mixed_set() -> JudgedSet:
    """The set, always the same."""
    chance = random.Random(39)
    documents: list[dict[str, str]] = []
    facts: list[tuple[str, dict[str, str], Sequence[str]]] = []
    for name in PRODUCTS:
        for number in range(PAGES_EACH):
            identifier, language = f"{name}-{number}", ("zh", "ja")[number % 2]
            month, year = number % 12 + 1, 2010 + chance.randrange(2) * 2 + number // 12
            fact = {
                "name": name,
                "version": f"{number // 4 + 1}.{number % 4}",
                "date": f"{year}年{month}月",
                "chapter": str(number + 1),
            }
            stated = [sentence.format(**fact) for sentence in _SENTENCES[language]]
            lines = [*stated, *chance.sample(_FILLERS[language], 3)]
            chance.shuffle(lines)
            title = {"zh": "使用说明", "ja": "ご利用の手引き"}[language]
            documents.append({"_id": identifier, "title": title, "text": "。\n\n".join(lines) + "。"})
            facts.append((identifier, fact, stated))
    questions: list[Question] = []
    for number, (identifier, fact, stated) in enumerate(chance.sample(facts, QUESTIONS)):
        piece = next(line for line in stated if fact["name"] in line and fact["version"] in line)
        at = piece.index(fact["name"])
        text = _QUERIES[number % len(_QUERIES)].format(**fact, piece=piece[max(at - 2, 0) :][:24])
        questions.append(Question(str(number), text, "", {identifier: 1}))
    return JudgedSet(NAME, documents, questions)
