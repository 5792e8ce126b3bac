# ruff: noqa: RUF001 (the Russian and Arabic letters are intended)
"""Stop words of each language, and the detection of a query's language.

Words are in the folded form of the index: lower case, Latin letters without accents.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from commonplace.domain.words.scripts import fold_text

DEFAULT = "english"

# Function words, question words and phrases of questions. The names are those of the Snowball stemmers.
_LISTS: Mapping[str, str] = {
    "english": """
        a about above after again against all also am an and any are aren as at be because been before being below
        between both but by can cannot could couldn did didn do does doesn doing don done down during each else few for
        from further get gets getting got had has have having he her here hers herself him himself his how i if in
        instead into is isn it its itself just let ll m may me might more most must my myself no nor not of off on once
        only onto or other our ours ourselves out over own please re s same shall she should shouldn since so some such
        t than that the their theirs them themselves then there these they this those through to too until up upon us
        ve very was wasn we were weren what when where whether which while who whom whose why will with within without
        would wouldn you your yours yourself yourselves""",
    "german": """
        aber alle allem allen aller alles als also am an andere anderen anderer anderes auch auf aus bei beim bin bis
        bist da damit dann das dass dein deine dem den denn der deren des dessen dich die dies diese diesem diesen
        dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch euer fur gegen gibt hab
        habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in indem ins ist ja
        jede jedem jeden jeder jedes jetzt kann kein keine keinem keinen konnen konnte konnten man manche mein meine
        mich mir mit muss mussen nach nicht nichts noch nun nur ob oder ohne sehr sein seine seinem seinen seiner
        selbst sich sie sind so solche soll sollte sollten sondern sonst uber um und uns unser unter viel viele vom von
        vor wahrend wann war waren warum was weil welche welchem welchen welcher welches wem wen wenn wer werde werden
        weshalb wie wieder wieso wieviel will wir wird wo wodurch wofur woher wohin womit woran worauf woraus worin
        wurde wurden zu zum zur zwar zwischen""",
    "french": """
        a ai ainsi alors apres au aucun aussi autre aux avaient avait avant avec avoir c ce ceci cela celle celui ces
        cet cette ceux chaque ci comme comment d dans de depuis des deux doit donc dont du elle elles en encore entre
        est et etait etaient etant ete etre eu eux fait faut il ils j je jusque l la laquelle le lequel les lesquels
        leur leurs lors lui m ma mais me meme mes moi moins mon n ne ni nos notre nous on ont ou par parce pas pendant
        peu peut plus pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se sera ses si sinon son
        sont sous sur t ta te tes toi ton tous tout toute toutes tres tu un une votre vous y""",
    "spanish": """
        a al algo alguna algunas alguno algunos ante antes aquel aquella asi aun bajo cada como con contra cual cuales
        cualquier cuando cuanta cuantas cuanto cuantos de del desde donde dos durante e el ella ellas ellos en entre
        era eran es esa esas ese eso esos esta estaba estaban estan estar estas este esto estos fue fueron ha habia han
        has hasta hay la las le les lo los mas me mi mis mucho muy nada ni no nos nosotros o os otra otras otro otros
        para pero poco por porque pues que quien quienes se sea ser si sido sin sobre son su sus tal tambien tanto te
        tiene tienen toda todas todo todos tu tus un una unas uno unos usted y ya yo""",
    "italian": """
        a ad agli ai al alla alle allo altra altre altri altro anche ancora avere aveva c che chi ci cio coi col come
        con cosa cui d da dagli dai dal dalla dalle dei del della delle dello di dove e ed era erano essere fra gli ha
        hai hanno ho i il in io l la le lei lo loro lui ma me mi mia mio molto ne negli nei nel nella nelle nello noi
        non nostro o ogni per perche piu po poi prima puo qual quale quali quando quanta quante quanti quanto quella
        quelle quelli quello questa queste questi questo qui s se sei senza si sia sono sono sta stata stato su sua
        sue sui sul sulla sulle suo suoi te ti tra tu tutta tutte tutti tutto un una uno vi voi""",
    "portuguese": """
        a ao aos apos aquela aquele aquilo as ate cada com como contra da das de dela dele deles depois do dos e ela
        elas ele eles em entre era eram essa essas esse esses esta estao estas estava este estes eu foi foram ha isso
        isto ja la lhe lhes mais mas me mesmo meu meus minha muito na nao nas nem no nos nossa nosso num numa o onde os
        ou para pela pelas pelo pelos pode por porque pouco qual quais quando quanta quantas quanto quantos que quem se
        seja sem ser seu seus so sob sobre sua suas tambem te tem tinha toda todas todo todos tu tua um uma umas uns
        voce voces""",
    "dutch": """
        aan al alle als alles altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een en er ge
        geen haar had hadden heb hebben heeft hem het hier hij hoe hoeveel hun iemand iets ik in is ja je kan kon
        kunnen maar me meer men met mij mijn moet moeten na naar niet niets nog nu of om omdat ons ook op over te tegen
        toch toen tot u uit uw van veel voor waar waarmee waarom wanneer want waren was wat we wel welk welke werd
        werden wie wij wordt worden zal ze zei zelf zich zij zijn zo zonder zou""",
    "swedish": """
        alla allt att av bara bli blir blev da dar de dem den denna deras dess det detta dig din dina ditt du efter
        ej eller en er ett fran for ha hade han hans har henne hennes hon honom hur hvad i icke ingen inom inte jag ju
        kan kunde man med mellan men mer mig min mina mitt mot mycket nar ni nu nagon nagot nagra och om oss pa sa
        samma sedan sig sin sina sitt ska skulle som till under upp ut utan vad var vara varfor varit varje vars vart
        vem vi vid vilka vilken vilket ar an at over""",
    "russian": """
        а без более бы был была были было быть в вам вас весь во вот все всего всех вы где да даже для до его ее если
        есть еще же за здесь и из или им их к как какая какие какой какое какую когда кого которая которого которое
        которой которые который кто куда ли лишь между меня мне много может мой мы на над надо наш не него нее нет ни
        них но ну о об однако он она они оно от откуда очень по под после потому почему при про с сам свою себя сколько
        со так также такой там те тем то того тоже той только том тот ту ты у уже чего чей чем что чтобы чья эта эти
        это этого этой этом этот эту я""",
    "arabic": """
        اذا ال الا التي الذي الذين الى ان انا انت انه اي اين ايضا او بعد بعض بل بها به بين تحت تكون تلك تم ثم حتى حول
        حيث خلال ذلك سوف على علي عليها عليه عن عند عندما غير فان فهو فوق في فيها فيه قبل قد كان كانت كل كم كما كيف كيفية
        لا لان لقد لكن لم لماذا لن له لها لهم لو ليس ما ماذا متى مثل مع من منذ منها منه هذا هذه هل هم هنا هناك هو هي و
        وهو وهي يتم يجب يكون يمكن""",
}
STOP_WORDS: Mapping[str, frozenset[str]] = {name: frozenset(fold_text(words).split()) for name, words in _LISTS.items()}

_MARKERS: Mapping[str, tuple[str, ...]] = {
    "english": ("the", "and", "of"),
    "german": ("der", "und", "ist"),
    "french": ("les", "des", "est"),
    "spanish": ("los", "las", "del"),
    "italian": ("il", "di", "che"),
    "portuguese": ("os", "um", "nao"),
    "dutch": ("het", "een", "van"),
    "swedish": ("och", "att", "som"),
    "russian": ("и", "на", "что"),
    "arabic": ("في", "من", "علي"),
}
MAX_SHORT = 3
"""Maximum number of words of a query from which no stop words are removed."""


def language_of(words: Collection[str], share: Callable[[str], float]) -> str:
    """The language of a query: that of most of its stop words, otherwise that of most documents.

    Args:
        words: Folded words of the query.
        share: Returns the share of documents, 0 to 1, that contain a word.
    """
    hits = {name: sum(word in stops for word in words) for name, stops in STOP_WORDS.items()}
    best = max(hits, key=lambda name: (hits[name], name == DEFAULT))
    rivals = [name for name in hits if hits[name] == hits[best]]
    if len(rivals) == 1:
        return best
    return max(rivals, key=lambda name: (min(map(share, _MARKERS[name])), name == DEFAULT))


def content_words(words: list[str], language: str) -> list[str]:
    """The words of a long query without stop words. Short queries and queries of stop words only are unchanged."""
    if len(words) <= MAX_SHORT:
        return words
    return without_stop_words(words, language) or words


def without_stop_words(words: list[str], language: str) -> list[str]:
    """The words that are not stop words."""
    stops = STOP_WORDS.get(language, STOP_WORDS[DEFAULT])
    return [word for word in words if word not in stops]
