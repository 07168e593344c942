import { errorText } from '../../../model/text/messages.ts';
import type { RedisStoreOptions } from './options.ts';

/** The server answered a command with an error: it has carried out nothing of the command. */
export class RefusedCommand extends Error {}

/** No answer arrived: the server may have carried out the command or not. */
export class LostCommand extends Error {}

/** The server cannot be used with this configuration; another attempt would fail in the same way. */
export class RefusedServer extends Error {}

/** What to do about an error of the connection or of Redis; the first match counts. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/invalid reply: null|No such master/, 'the sentinel knows no master of this name'],
  [/Unknown RESP type/, 'the server there is not Redis: check the port'],
  [/^no answer within|ETIMEDOUT/, 'check that it is reachable, and that both sides use TLS or neither does'],
  [/wrong version number|WRONG_VERSION|packet length too long/i, 'the server does not speak TLS here'],
  [
    /no start line|DECODER|key values mismatch/,
    'the certificate or the key for the store is not PEM, or the two do not match',
  ],
  [/certificate|altname/i, 'name the CA that signed its certificate, or the server name in the certificate'],
  [
    /Connection is closed|ECONNRESET|socket disconnected/,
    'the connection was closed without an answer: check that both sides use TLS or neither does',
  ],
  [/\bOOM\b/, 'the memory of Redis is full (maxmemory): give it more, or remove other data from it'],
  [/^WRONGPASS|invalid password|invalid username-password/i, 'the user name or the password of the store is wrong'],
  [/^NOAUTH/, 'Redis asks for a password: configure one for the store'],
  [/^READONLY/, 'this server is a replica: name its primary, or the sentinels that know it'],
  [/^MISCONF/, 'Redis cannot save to its disk and therefore refuses writes: read its log'],
  [/^NOREPLICAS/, 'Redis has fewer replicas than it requires for writes (min-replicas-to-write)'],
  [/^LOADING/, 'Redis is loading its data and will answer soon'],
  [/DB index is out of range/, 'Redis has fewer databases (its setting `databases`): choose a lower number'],
];

/** The message, followed by advice where there is some. */
export function withAdvice(message: string): string {
  const advice = missingPermission(message) ?? ADVICE.find(([pattern]) => pattern.test(message))?.[1];
  return advice === undefined ? message : `${message}; ${advice}`;
}

/** Advice on an error of an ACL: NOPERM for a command, a key or a channel, also from within a script. */
function missingPermission(message: string): string | undefined {
  if (!/^NOPERM|ACL failure in script|user executing the script can't/.test(message)) return undefined;
  const command = /run the '([^']+)' command/.exec(message)?.[1];
  if (command !== undefined) return `the user of the store lacks a right: ACL SETUSER ... +${command}`;
  if (/channel/.test(message)) return 'the user of the store lacks a right on channels: ACL SETUSER ... &PREFIX*';
  if (/key/.test(message)) return 'the user of the store lacks a right on keys: ACL SETUSER ... ~PREFIX*';
  return 'the user of the store lacks a right';
}

const FINAL =
  /\b(WRONGPASS|NOAUTH|NOPERM)\b|invalid password|DB index|Unknown RESP type|certificate|wrong version number|WRONG_VERSION|no start line|DECODER|key values mismatch|alert number/i;

/** An error with address and advice. RefusedServer if another attempt would fail in the same way. */
export function sessionError(error: unknown, { nodes, sentinel }: RedisStoreOptions): Error {
  if (error instanceof RefusedServer) return error;
  const raw = errorText(error);
  const where = nodes.map(({ host, port }) => `${host}:${port}`).join(', ');
  const target =
    sentinel === undefined ? `Redis at ${where}` : `master ${sentinel.master} of the sentinels at ${where}`;
  const text = `${target}: ${error instanceof RefusedCommand ? raw : withAdvice(raw)}`;
  return FINAL.test(raw) ? new RefusedServer(text, { cause: error }) : new Error(text, { cause: error });
}
