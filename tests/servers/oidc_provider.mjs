// An OpenID Connect provider on loopback for the tests: the real `oidc-provider` from npm, whose login page logs in at once.
// Reads one line of JSON from standard input: {port, keys: JWKS with private keys, clients: [...]}.
// Prints one line {url, pid} when it listens, and ends when its standard input ends.
// Who logs in is `login_hint`: SUBJECT, or SUBJECT:NAME to say which name the claims give.
import { createInterface } from "node:readline";
import { createServer } from "node:http";
import { createRequire } from "node:module";

const require = createRequire(new URL("./npm/package.json", import.meta.url));
const { Provider } = await import(require.resolve("oidc-provider"));

const names = new Map(); // by subject: what the claims call it since its newest login

const lines = createInterface({ input: process.stdin });
lines.once("line", (line) => start(JSON.parse(line)));
process.stdin.on("end", () => process.exit(0));

function start({ port, keys, clients }) {
  const server = createServer();
  server.listen(port, "127.0.0.1", () => {
    const url = `http://127.0.0.1:${server.address().port}`;
    server.on("request", providerAt(url, keys, clients).callback());
    console.log(JSON.stringify({ url, pid: process.pid }));
  });
}

function providerAt(url, keys, clients) {
  const provider = new Provider(url, {
    clients,
    jwks: keys,
    claims: { openid: ["sub"], profile: ["preferred_username"], email: ["email", "email_verified"] },
    conformIdTokenClaims: false,
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, interaction) => `/login/${interaction.uid}` },
    cookies: { keys: ["only for tests on loopback"] },
    pkce: { required: () => true },
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => claimsOf(sub) }),
    loadExistingGrant: grantEverything,
  });
  provider.use(async (context, next) => {
    if (!context.path.startsWith("/login/")) return next();
    const { params } = await provider.interactionDetails(context.req, context.res);
    const [sub, name] = params.login_hint.split(":");
    names.set(sub, name ?? sub);
    const login = { accountId: sub };
    await provider.interactionFinished(context.req, context.res, { login }, { mergeWithLastSubmission: false });
    context.respond = false;
  });
  return provider;
}

function claimsOf(sub) {
  const name = names.get(sub);
  return { sub, preferred_username: name, email: `${name}@example.test`, email_verified: false };
}

async function grantEverything(context) {
  const grant = new context.oidc.provider.Grant({
    clientId: context.oidc.client.clientId,
    accountId: context.oidc.session.accountId,
  });
  grant.addOIDCScope("openid profile email");
  await grant.save();
  return grant;
}
