import { errorText } from '../../../model/error-text.ts';
import type { RedisStoreOptions } from './options.ts';

/** The server has answered a command with an error: nothing of the command has happened. */
export class RefusedCommand extends Error {}

/** Nobody knows whether the command has happened. */
export class LostCommand extends Error {}

/** The server can not be used as it is, and trying again will not change it. */
export class RefusedServer extends Error {}

/** What an error that Redis has answered means, and what to do about it. Begins with Redis' own word for it. */
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
  [/\bOOM\b/, 'the memory of Redis is full (maxmemory): give it more, or remove what else is in it'],
  [/^WRONGPASS|invalid password|invalid username-password/i, 'the user name or the password of the store is wrong'],
  [/^NOAUTH/, 'Redis asks for a password: configure one for the store'],
  [/^READONLY/, 'this server is a replica: name its primary, or the sentinels that know it'],
  [/^MISCONF/, 'Redis cannot save to its disk and therefore refuses to write: look at its log'],
  [/^NOREPLICAS/, 'Redis has not as many replicas as it wants for writing (min-replicas-to-write)'],
  [/^LOADING/, 'Redis is reading its data and will answer soon'],
  [/DB index is out of range/, 'Redis has fewer databases (its setting `databases`): choose a lower number'],
];

/** Of an ACL: NOPERM of a command, of a key, of a channel; or the same from within a script. */
function missingPermission(message: string): string | undefined {
  if (!/^NOPERM|ACL failure in script|user executing the script can't/.test(message)) return undefined;
  const command = /run the '([^']+)' command/.exec(message)?.[1];
  if (command !== undefined) return `the user of the store lacks a right: ACL SETUSER ... +${command}`;
  if (/channel/.test(message)) return 'the user of the store lacks a right on channels: ACL SETUSER ... &PREFIX*';
  if (/key/.test(message)) return 'the user of the store lacks a right on keys: ACL SETUSER ... ~PREFIX*';
  return 'the user of the store lacks a right';
}

/** Why there is no session, for a person. A RefusedServer if a second attempt would fail in the same way. */
export function sessionError(error: unknown, { nodes, sentinel }: RedisStoreOptions): Error {
  if (error instanceof RefusedServer) return error;
  const raw = errorText(error);
  const where = nodes.map(({ host, port }) => `${host}:${port}`).join(', ');
  const who = sentinel === undefined ? `Redis at ${where}` : `master ${sentinel.master} of the sentinels at ${where}`;
  const text = `${who}: ${error instanceof RefusedCommand ? raw : connectText(raw)}`;
  return FINAL.test(raw) ? new RefusedServer(text, { cause: error }) : new Error(text, { cause: error });
}

const FINAL =
  /\b(WRONGPASS|NOAUTH|NOPERM)\b|invalid password|DB index|Unknown RESP type|certificate|wrong version number|WRONG_VERSION|no start line|DECODER|key values mismatch|alert number/i;

function connectText(message: string): string {
  if (/invalid reply: null|No such master/.test(message))
    return `${message}; the sentinel knows no master of this name`;
  if (/Unknown RESP type/.test(message)) return 'what answers there is no Redis: is it the right port?';
  if (/^no answer within|ETIMEDOUT/.test(message)) {
    return `${message}: is it reachable, and does one side want TLS and the other not?`;
  }
  if (/wrong version number|WRONG_VERSION|packet length too long/i.test(message)) {
    return `${message}; the server does not speak TLS here`;
  }
  if (/no start line|DECODER|key values mismatch/.test(message)) {
    return `${message}; the certificate or the key for the store is not PEM, or they do not belong together`;
  }
  if (/certificate|altname/i.test(message)) {
    return `${message}; name the CA that signed its certificate, or the server name that stands in it`;
  }
  if (/Connection is closed|ECONNRESET|socket disconnected/.test(message)) {
    return `${message}; the connection was closed before it was answered: does one side want TLS and the other not?`;
  }
  return refusalText(message);
}
