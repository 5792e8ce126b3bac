// An identity provider on a free port. A token's claims are the provider's own, `aud` from `resource` (RFC 8707), and
// whatever the field `claims` of the token request holds as JSON. Its arguments are the folder of npm packages, and the
// scope that tokens for a code get.
import { randomUUID } from "node:crypto";
import { pathToFileURL } from "node:url";

const place = pathToFileURL(`${process.argv[2]}/oauth2-mock-server/dist/index.mjs`);
const { OAuth2Server } = await import(place);
const server = new OAuth2Server();
await server.issuer.keys.generate("RS256");
await server.start(0, "localhost");
server.service.on("beforeTokenSigning", (token, request) => {
  const asked = request.body ?? {};
  token.payload.jti = randomUUID(); // as RFC 9068 asks: else tokens of the same second are equal, and signed out together
  if (asked.resource) token.payload.aud = asked.resource;
  if (process.argv[3] && asked.grant_type === "authorization_code") token.payload.scope = process.argv[3];
  Object.assign(token.payload, JSON.parse(asked.claims ?? "{}"));
});
console.log(server.issuer.url);
