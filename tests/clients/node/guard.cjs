// Loaded before a client: sockets of this process reach loopback and nothing else (see ../guard.py).
// The first attempt to leave ends the process, because clients swallow errors.
"use strict";
const dns = require("node:dns");
const net = require("node:net");

const isLoopback = (host) => host === "localhost" || host === "::1" || (net.isIPv4(host) && host.startsWith("127."));

function requireLoopback(host) {
  if (isLoopback(host)) return;
  console.error(`the client tried to reach ${host}`);
  process.exit(1);
}

const connect = net.Socket.prototype.connect;
net.Socket.prototype.connect = function (...args) {
  const options = Array.isArray(args[0]) ? args[0][0] : args[0];
  const host = typeof options === "object" ? options.host : args[1];
  if (!(typeof options === "object" && options.path)) requireLoopback(typeof host === "string" ? host : "localhost");
  return connect.apply(this, args);
};

const lookup = dns.lookup;
dns.lookup = function (host, ...rest) {
  requireLoopback(host);
  return lookup(host, ...rest);
};
