// The edge function that stands beside Holdfast's: a dashboard's snapshot, written as
// such functions are, with every choice made for speed. The bearer's token is checked
// on this machine (HS256, nothing asked of an identity service), the answer is kept
// in a Map, and a new one is read in one transaction whose statements travel together
// and are prepared. They are those of the limit; totals come from Holdfast's counters
// or are counted.
import postgres from "postgres";

const given = JSON.parse(Deno.readTextFileSync(Deno.args[0]));
const utf8 = new TextEncoder();
const key = await crypto.subtle.importKey("raw", utf8.encode(given.secret), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
const sql = postgres({
  host: given.host, port: given.port, database: given.database, username: given.user, max: 8,
  connection: { role: given.role, jit: "off" },
});

const kept = new Map([["object", JSON.parse(Deno.readTextFileSync(given.answer))]]);
kept.set("text", JSON.stringify({ ...kept.get("object"), cached: true }));

const bytes = (part) => Uint8Array.fromBase64(part, { alphabet: "base64url" });
const member = (part) => JSON.parse(new TextDecoder().decode(bytes(part)));

async function signedIn(request) {
  const [head, body, signature] = (request.headers.get("authorization") ?? "").replace(/^Bearer /, "").split(".");
  if (!signature || member(head).alg !== "HS256") return false;
  if (!await crypto.subtle.verify("HMAC", key, bytes(signature), utf8.encode(`${head}.${body}`))) return false;
  const claims = member(body);
  return claims.exp > Date.now() / 1000 && claims.tenant_id === given.tenant;
}

async function anew(totals) {
  const [, counts, ...lists] = await sql.begin("isolation level repeatable read read only", (tx) => [
    tx.unsafe("select set_config('holdfast.tenant_id', $1, true)", [given.tenant], { prepare: true }),
    ...[totals, ...given.statements.slice(1)].map((text) => tx.unsafe(text, [given.tenant], { prepare: true })),
  ]);
  const answer = { tenant_id: given.tenant, timestamp: new Date().toISOString(), cached: false };
  answer.totals = Object.fromEntries(counts.map(({ name, sum }) => [name, Number(sum)]));
  ["zones", "inventory", "pick_lists", "shipments", "drivers", "safety", "import"].forEach((name, i) => answer[name] = { items: lists[i] });
  return JSON.stringify(answer);
}

const json = { headers: { "Content-Type": "application/json; charset=utf-8" } };

Deno.serve({ hostname: "127.0.0.1", port: given.listen, onListen() {} }, async (request) => {
  const path = new URL(request.url).pathname;
  if (path === "/up") return new Response("up");
  if (!await signedIn(request)) return new Response("{}", { ...json, status: 401 });
  if (path === "/text") return new Response(kept.get("text"), json);
  if (path === "/object") return new Response(JSON.stringify({ ...kept.get("object"), cached: true }), json);
  return new Response(await anew(path === "/counted" ? given.counted : given.statements[0]), json);
});
