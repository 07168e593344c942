import { parseOutputKey } from '../../model/objects/object-key.ts';

/** Field names (lower-case, without `_` and `-`) whose values never reach a log. */
const SECRET_FIELD =
  /^(authorization|proxyauthorization|cookie|setcookie|credentials?|key|passphrase|.*(token|password|secret|privatekey|apikey|accesskey|secretkey))$/;
/** Field names that end like a secret one but name a place or a count. */
const HARMLESS_FIELD = /(file|path|count|name|url)$/;

const BEARER = /\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{4,}/gi;
/** The scheme is bounded: a long text without an address must not cost the square of its length. */
const URL_CREDENTIALS = /([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/@]+@/gi;
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g;

const MASK = '[redacted]';
const DEEPEST = 8;
const LONGEST_LIST = 100;
const LONGEST_TEXT = 8192;

/** Masks bearer and basic credentials, credentials in URLs and private keys, and shortens very long texts. */
export function redactText(text: string): string {
  const masked = text
    .replace(PRIVATE_KEY, MASK)
    .replace(BEARER, (_, scheme: string) => `${scheme} ${MASK}`)
    .replace(URL_CREDENTIALS, (_, scheme: string) => `${scheme}${MASK}@`);
  return masked.length > LONGEST_TEXT ? `${masked.slice(0, LONGEST_TEXT)}... (shortened)` : masked;
}

/** Copies log data for writing: secret fields masked at any depth, errors as text, bounded, without cycles. */
export function redactData(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= DEEPEST) return '[too deep]';
  if (value instanceof Error) return redactError(value, depth);
  if (value instanceof Uint8Array) return `[${value.byteLength} bytes]`;
  if (value instanceof Map) return redactData(Object.fromEntries(value), depth);
  if (value instanceof Set) return redactData([...value], depth);
  if (Array.isArray(value)) {
    const items = value.slice(0, LONGEST_LIST).map((item) => redactData(item, depth + 1));
    return value.length > LONGEST_LIST ? [...items, `[${value.length - LONGEST_LIST} more]`] : items;
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      isSecretField(name, member) ? MASK : redactData(member, depth + 1),
    ]),
  );
}

function redactError(error: Error, depth: number): unknown {
  const code: unknown = 'code' in error ? error.code : undefined;
  return {
    name: error.name,
    message: redactText(error.message),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(error.stack === undefined ? {} : { stack: redactText(error.stack) }),
    ...(error.cause === undefined ? {} : { cause: redactData(error.cause, depth + 1) }),
  };
}

function isSecretField(name: string, value: unknown): boolean {
  if (value === undefined || value === null || typeof value === 'boolean') return false;
  const plain = name.toLowerCase().replaceAll(/[_-]/g, '');
  if (!SECRET_FIELD.test(plain) || HARMLESS_FIELD.test(plain)) return false;
  // The key of an object is the only harmless value of this name.
  return !(plain === 'key' && typeof value === 'string' && parseOutputKey(value).ok);
}
