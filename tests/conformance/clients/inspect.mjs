// The Inspector's command line lists every tool and calls each of them, in both eras, one command after another in one
// process. Its arguments are its module, a JSON object: toolset to `{url, command, args, env, base}`, and a step: every
// step-th way of toolset and era is walked, each toolset by one. It prints a JSON list of `{toolset, era, listed, called,
// error?}`.
import { pathToFileURL } from "node:url";

import { PLANS } from "./plans.mjs";

const [module, asked, step] = process.argv.slice(2);
const servers = JSON.parse(asked);
const { runCli } = await import(pathToFileURL(module));
const ERAS = ["legacy", "modern"];
const TOOL_ERROR = 5; // how the command ends when a tool answered with an error
const PIPED = "kb"; // listed over stdio, too; the others by the clients of call.mjs
const MAY_FAIL = new Set(["semantic_search"]); // no model is installed: what it then says is a tool's error, too

// What one command prints on its standard output. It runs while no other one does.
async function printed(...words) {
  const [write, told] = [process.stdout.write, []];
  process.stdout.write = (chunk, ...rest) => {
    told.push(String(chunk));
    rest.findLast((one) => typeof one === "function")?.();
    return true;
  };
  try {
    await runCli(["node", "mcp-inspector", ...words]);
  } catch (error) {
    error.printed = told.join("");
    throw error;
  } finally {
    process.stdout.write = write;
  }
  return told.join("");
}

async function inspected(era, target, ...words) {
  const shown = ["--protocol-era", era, "--format", "json", "-q", "--connect-timeout", "60000"];
  return JSON.parse(await printed(...target, ...shown, ...words)).result;
}

async function walk(toolset, era) {
  const server = servers[toolset];
  const done = { toolset, era, listed: [], called: [] };
  const http = [server.url, "--transport", "http"];
  const call = async (tool, given = {}) => {
    const words = ["--method", "tools/call", "--tool-name", tool, "--tool-args-json", JSON.stringify(given)];
    let answer;
    try {
      answer = await inspected(era, http, ...words);
    } catch (error) {
      if (error.exitCode !== TOOL_ERROR || !MAY_FAIL.has(tool)) throw new Error(`${tool}: ${error} ${error.printed}`);
      answer = { content: [] };
    }
    done.called.push(tool);
    return answer;
  };
  try {
    const strict = ["--method", "tools/list", "--strict"];
    done.listed = (await inspected(era, http, ...strict)).tools.map((tool) => tool.name);
    if (toolset === PIPED) {
      const env = Object.entries(server.env).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
      const piped = await inspected(era, [...env, ...strict], "--", server.command, ...server.args);
      if (String(piped.tools.map((tool) => tool.name)) !== String(done.listed)) throw new Error("other tools over stdio");
    }
    await PLANS[toolset]({
      call: async (tool, given) => (await call(tool, given)).structuredContent,
      text: async (tool, given) => (await call(tool, given)).content.map((block) => block.text ?? "").join("\n"),
      run: `inspect-${era}`,
      base: server.base,
    });
  } catch (error) {
    done.error = String(error?.stack ?? error);
  }
  return done;
}

const walks = [];
for (const [row, toolset] of Object.keys(servers).entries())
  for (const [column, era] of ERAS.entries()) if ((row + column) % step === 0) walks.push(await walk(toolset, era));
console.log(JSON.stringify(walks));
process.exit(0);
