// The testbed's second implementation of HTTP/2 with ORIGIN frames: Node's own. Started by node_server.py.
//
//   node node_server.mjs CONFIG.json
//
// CONFIG: addresses; certificates by name; for each server name its certificate, origins and the hosts that are not
// answered 421 at an address; every answer by host and path; the files that handshakes and requests are logged to.
// Says "ready" when all listen, answers every line on standard input, and ends with it.

import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import http2 from "node:http2";
import readline from "node:readline";
import tls from "node:tls";

const config = JSON.parse(readFileSync(process.argv[2]));
const contexts = Object.fromEntries(
  Object.entries(config.certificates).map(([name, { chain, key }]) => [
    name,
    tls.createSecureContext({ cert: readFileSync(chain), key: readFileSync(key), minVersion: "TLSv1.2" }),
  ]),
);
const logs = { handshakes: openSync(config.handshakes, "a"), requests: openSync(config.requests, "a") };
const log = (file, record) => writeSync(logs[file], `${JSON.stringify({ time: Date.now() / 1000, ...record })}\n`);

let connections = config.firstConnection;

const respond = (session, stream, headers, arrival) => {
  const host = (headers[":authority"] ?? "").replace(/:\d+$/, "").toLowerCase();
  const path = headers[":path"];
  const known = config.hosts[host];
  const promised = session.answersFor.includes(host);
  const served = known !== undefined && (known.addresses.includes(arrival.server) || promised);
  const misdirected = !served || (known.ownConnection && arrival.server_name !== host);
  const answer = misdirected ? undefined : known.answers[path.split("?")[0]];
  const fields = { ":status": misdirected ? 421 : (answer?.status ?? 404), ...(answer?.headers ?? {}) };
  if (headers.origin !== undefined) {
    fields["access-control-allow-origin"] = headers.origin;
    fields["access-control-allow-credentials"] = "true";
    fields.vary = "origin";
  }
  const cookies = (headers.cookie ?? "").split(";").map((pair) => pair.split("=")[0].trim()).filter(Boolean);
  log("requests", {
    connection: arrival.connection, server: arrival.server, client_port: arrival.client_port, scheme: "https",
    protocol: "h2", method: headers[":method"], host, path, status: fields[":status"], cookies,
  });
  stream.respond(fields);
  stream.end(answer === undefined ? "" : Buffer.from(answer.body, "base64"));
};

const serve = (address, listening) => {
  const server = http2.createSecureServer({
    SNICallback: (name, done) => done(null, contexts[config.hosts[name]?.certificate] ?? contexts[config.fallback]),
    ALPNProtocols: ["h2"],
  });
  server.on("session", (session) => {
    const socket = session.socket;
    const host = config.hosts[socket.servername];
    const origins = host?.origins ?? null;
    const arrival = {
      connection: connections++, server: address, client_port: socket.remotePort, server_name: socket.servername || null,
    };
    log("handshakes", {
      ...arrival, client: socket.remoteAddress, alpn: socket.alpnProtocol, resumed: socket.isSessionReused(),
      tls_version: socket.getProtocol(), origins,
    });
    session.answersFor = host?.answersFor ?? [];
    // Node sends no frame for an empty list; nothing of ours can make it.
    if (origins !== null && origins.length > 0) session.origin(...origins);
    session.on("stream", (stream, headers) => {
      const known = config.hosts[(headers[":authority"] ?? "").replace(/:\d+$/, "")];
      stream.on("error", () => {});
      setTimeout(() => { if (!stream.destroyed) respond(session, stream, headers, arrival); }, known?.delayMs ?? 0);
    });
    session.on("error", () => {});
  });
  server.on("sessionError", () => {});
  server.on("tlsClientError", () => {});
  server.listen(config.port, address, listening);
};

let waiting = config.addresses.length;
for (const address of config.addresses) serve(address, () => { if (--waiting === 0) console.log("ready"); });
readline.createInterface({ input: process.stdin })
  .on("line", () => setImmediate(() => console.log("written")))
  .on("close", () => { Object.values(logs).forEach((file) => closeSync(file)); process.exit(0); });
