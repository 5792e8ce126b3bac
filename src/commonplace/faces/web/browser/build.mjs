// Builds the browser's files: `node build.mjs OUT`. Called by tools/build_web.py, which compresses what comes out.
import { build } from "esbuild";
import { copyFile, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

const out = process.argv[2];
const common = { bundle: true, minify: true, legalComments: "eof", target: ["chrome111", "firefox113", "safari16.4"], charset: "utf8", logLevel: "warning" };

const scripts = await build({ ...common, metafile: true, entryPoints: ["src/app.js", "src/published.js", "src/editor.js", "src/graph.js", "src/graph-layout.js", "src/katex.js", "src/diagram.js"], format: "iife", outdir: out });
await build({ ...common, entryPoints: ["src/app.css"], outdir: out });
await build({
  ...common,
  entryPoints: { katex: "node_modules/katex/dist/katex.css" },
  outdir: out,
  assetNames: "[name]",
  loader: { ".woff2": "file", ".woff": "empty", ".ttf": "empty" },
});
await copyFile("src/icon.svg", join(out, "icon.svg"));
// A frame without an origin can load nothing, so the script stands in its document; the server names its hash.
const library = await readFile("node_modules/@mermaid-js/tiny/dist/mermaid.tiny.js", "utf8");
const script = `${library}\n${await readFile(join(out, "diagram.js"), "utf8")}`.replaceAll("</script", "<\\/script");
const frame = await readFile("src/diagram.html", "utf8");
await writeFile(join(out, "diagram.html"), frame.replace("SCRIPT", () => script));
await rm(join(out, "diagram.js"));

// Every package of which a file has code.
const bundled = Object.keys(scripts.metafile.inputs).map((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
const names = new Set(["katex", "@mermaid-js/tiny", ...bundled.filter(Boolean).sort()]);
const notices = [];
for (const name of names) {
  const found = JSON.parse(await readFile(join("node_modules", name, "package.json"), "utf8"));
  const text = await readFile(join("node_modules", name, "LICENSE"), "utf8").catch(() => "");
  notices.push(`${name} ${found.version} (${found.license})\n\n${text.trim()}\n`);
}
await writeFile(join(out, "licenses.txt"), notices.join("\n\n"));
