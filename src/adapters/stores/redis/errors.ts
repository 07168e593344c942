import { errorText } from '../../../model/messages.ts';
import type { RedisStoreOptions } from './options.ts';

/** The server answered a command with an error: it has carried out nothing of the command. */
export class RefusedCommand extends Error {}

/** No answer arrived: the server may have carried out the command or not. */
export class LostCommand extends Error {}

/** The server cannot be used with this configuration; another attempt would fail in the same way. */
export class RefusedServer extends Error {}

/** The error text of Redis, followed by advice where there is some. */
export function refusalText(message: string): string {
  const advice = adviceOn(message);
  return advice === undefined ? message : `${message}; ${advice}`;
}

function adviceOn(message: string): string | undefined {
  const permission = missingPermission(message);
  if (permission !== undefined) return permission;
  for (const [pattern, advice] of ADVICE) if (pattern.test(message)) return advice;
  return undefined;
}

const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/\bOOM\b/, 'the memory of Redis is full (maxmemory): give it more, or remove other data from it'],
  [/^WRONGPASS|invalid password|invalid username-password/i, 'the user name or the password of the store is wrong'],
  [/^NOAUTH/, 'Redis asks for a password: configure one for the store'],
  [/^READONLY/, 'this server is a replica: name its primary, or the sentinels that know it'],
  [/^MISCONF/, 'Redis cannot save to its disk and therefore refuses writes: read its log'],
  [/^NOREPLICAS/, 'Redis has fewer replicas than it requires for writes (min-replicas-to-write)'],
  [/^LOADING/, 'Redis is loading its data and will answer soon'],
  [/DB index is out of range/, 'Redis has fewer databases (its setting `databases`): choose a lower number'],
];

/** Advice on an error of an ACL: NOPERM for a command, a key or a channel, also from within a script. */
function missingPermission(message: string): string | undefined {
  if (!/^NOPERM|ACL failure in script|user executing the script can't/.test(message)) return undefined;
  const command = /run the '([^']+)' command/.exec(message)?.[1];
  if (command !== undefined) return `the user of the store lacks a right: ACL SETUSER ... +${command}`;
  if (/channel/.test(message)) return 'the user of the store lacks a right on channels: ACL SETUSER ... &PREFIX*';
  if (/key/.test(message)) return 'the user of the store lacks a right on keys: ACL SETUSER ... ~PREFIX*';
  return 'the user of the store lacks a right';
}

/** An error with advice for the user. RefusedServer if another attempt would fail in the same way. */
export function sessionError(error: unknown, { nodes, sentinel }: RedisStoreOptions): Error {
  if (error instanceof RefusedServer) return error;
  const raw = errorText(error);
  const where = nodes.map(({ host, port }) => `${host}:${port}`).join(', ');
  const target =
    sentinel === undefined ? `Redis at ${where}` : `master ${sentinel.master} of the sentinels at ${where}`;
  const text = `${target}: ${error instanceof RefusedCommand ? raw : connectText(raw)}`;
  return FINAL.test(raw) ? new RefusedServer(text, { cause: error }) : new Error(text, { cause: error });
}

const FINAL =
  /\b(WRONGPASS|NOAUTH|NOPERM)\b|invalid password|DB index|Unknown RESP type|certificate|wrong version number|WRONG_VERSION|no start line|DECODER|key values mismatch|alert number/i;

function connectText(message: string): string {
  if (/invalid reply: null|No such master/.test(message))
    return `${message}; the sentinel knows no master of this name`;
  if (/Unknown RESP type/.test(message)) return 'the server there is not Redis: check the port';
  if (/^no answer within|ETIMEDOUT/.test(message)) {
    return `${message}: check that it is reachable, and that both sides use TLS or neither does`;
  }
  if (/wrong version number|WRONG_VERSION|packet length too long/i.test(message)) {
    return `${message}; the server does not speak TLS here`;
  }
  if (/no start line|DECODER|key values mismatch/.test(message)) {
    return `${message}; the certificate or the key for the store is not PEM, or the two do not match`;
  }
  if (/certificate|altname/i.test(message)) {
    return `${message}; name the CA that signed its certificate, or the server name in the certificate`;
  }
  if (/Connection is closed|ECONNRESET|socket disconnected/.test(message)) {
    return `${message}; the connection was closed without an answer: check that both sides use TLS or neither does`;
  }
  return refusalText(message);
}
