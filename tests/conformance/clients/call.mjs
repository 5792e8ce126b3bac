// The official TypeScript clients, of both major versions, list and call every tool of every toolset. Its arguments are
// the folder of npm packages, a JSON object: toolset to `{url, command, args, env, base}`, and a number: of the ways to
// each toolset every first, every second and so on is walked. It prints a JSON list.
import { pathToFileURL } from "node:url";

import { PLANS } from "./plans.mjs";

const [packages, asked, step] = process.argv.slice(2);
const servers = JSON.parse(asked);
const load = (path) => import(pathToFileURL(`${packages}/@modelcontextprotocol/${path}`));
const [one, oneHttp, oneStdio, two, twoStdio, { SkillsClient }] = await Promise.all([
  load("sdk/dist/esm/client/index.js"),
  load("sdk/dist/esm/client/streamableHttp.js"),
  load("sdk/dist/esm/client/stdio.js"),
  load("client/dist/index.mjs"),
  load("client/dist/stdio.mjs"),
  load("client/dist/ext/skills/index.mjs"),
]);

const info = { name: "typescript", version: "0" };
const CLIENTS = {
  v1: { make: () => new one.Client(info), http: oneHttp, stdio: oneStdio },
  "v2 legacy": second("legacy"),
  // The SDK's answer to `initialize` names no extensions, which came with the newer era.
  "v2 modern": { ...second({ pin: "2026-07-28" }), skills: SkillsClient },
};
const MAY_FAIL = new Set(["semantic_search"]); // no model is installed: what it then says is a tool's error, too

function second(mode) {
  const make = () => new two.Client(info, { versionNegotiation: { mode } });
  return { make, http: two, stdio: twoStdio };
}

function transport(kind, way, server) {
  if (kind === "http") return new way.http.StreamableHTTPClientTransport(new URL(server.url));
  const env = { ...process.env, ...server.env };
  return new way.stdio.StdioClientTransport({ command: server.command, args: server.args, env, stderr: "ignore" });
}

async function walk(name, kind, toolset, number) {
  const way = CLIENTS[name];
  const server = servers[toolset];
  const client = way.make();
  const done = { client: name, transport: kind, toolset, listed: [], called: [] };
  const result = async (tool, given = {}) => {
    const answer = await client.callTool({ name: tool, arguments: given });
    if (answer.isError && !MAY_FAIL.has(tool)) throw new Error(`${tool}: ${JSON.stringify(answer.content)}`);
    done.called.push(tool);
    return answer;
  };
  try {
    await client.connect(transport(kind, way, server));
    done.instructions = client.getInstructions() ?? "";
    done.listed = (await client.listTools()).tools.map((tool) => tool.name);
    const call = async (tool, given) => (await result(tool, given)).structuredContent;
    const text = async (tool, given) => (await result(tool, given)).content.map((block) => block.text ?? "").join("\n");
    if (toolset === "kb" && way.skills) done.skills = await skills(client, way.skills);
    await PLANS[toolset]({ call, text, run: `walk${number}`, base: server.base });
  } catch (error) {
    done.error = String(error?.stack ?? error);
  } finally {
    await client.close();
  }
  return done;
}

async function skills(client, SkillsClient) {
  const found = new SkillsClient(client);
  const files = {};
  for (const skill of (await found.list()).skills) {
    for (const { uri } of (await found.get(skill.uri)).skill.resources) {
      files[uri] = (await found.read(skill, uri)).verified;
    }
  }
  return { files, directoryRead: found.directoryRead };
}

async function walks(toolset, place) {
  const found = [];
  for (const [row, name] of Object.keys(CLIENTS).entries()) {
    for (const [column, kind] of ["stdio", "http"].entries()) {
      if ((place + row + column) % Number(step) === 0) found.push(await walk(name, kind, toolset, found.length));
    }
  }
  return found;
}

console.log(JSON.stringify((await Promise.all(Object.keys(servers).map(walks))).flat()));
process.exit(0);
