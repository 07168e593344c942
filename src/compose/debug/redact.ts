import { redactText } from '../../adapters/system/redact.ts';
import { isKeyOfSecret, namesSecret } from '../../model/objects/secret-values.ts';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../model/text/json.ts';

const MASK = '[redacted]';
const DEEPEST = 40;
const LONGEST_LINE = 8_000;

/** Member names (lower-case, without `_`, `-` and `.`) whose value is a secret, or may be. */
const SECRET_NAME =
  /(password|passwd|passphrase|secret|token|credential|apikey|accesskey|privatekey|authorization|cookie|dsn|connectionstring)/;
/** More such names of environment variables. */
const SECRET_VARIABLE = /(pass|pwd|auth|key|webhook|salt)/;
/** Names that only speak of a secret: where it is, how long it lives. */
const HARMLESS_NAME =
  /(file|path|name|names|ref|refs|type|kind|reason|mountpath|seconds|serviceaccounttoken|secretkeyref|configmapkeyref|optional|audience|count)$/;
/** A secret with its name, on a command line or in a text: `--token=x`, `password: x`. */
const ASSIGNED =
  /((?:password|passwd|passphrase|[_-]pass|pwd|secret|token|credentials?|api[_-]?key|access[_-]?key|private[_-]?key)[\w-]*["']?\s*[=:]\s*)("(?:[^"\\]|\\.)*("|$)|'[^']*('|$)|[^\s,;&}\]]+)/gi;
/** `--token x`. */
const FLAG = /(--[\w-]*(?:password|passphrase|secret|token|key))(\s+)(?!-)(\S+)/gi;
/** `Cookie: ...`, `curl -u user:x`. */
const COOKIE = /\b((?:set-)?cookie["']?\s*:\s*).+/gi;
const USER = /(\s(?:-u|--user)[\s=]+[^\s:]+:)\S+/g;
/** Tokens of clusters, of every form (`relay/trust/token.ts`): `frt1_`, `frt2_`, `fre1_` and later ones. */
const OWN_TOKEN = /\bfr[te]\d+_[A-Za-z0-9_-]+/g;
const WEB_TOKEN = /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*/g;
const KNOWN_TOKENS =
  /\b(?:gh[pousr]_[A-Za-z0-9]{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16})\b|\bhooks\.slack\.com\/\S+/g;
const FILE_FLAG = /-file$/i;
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g;

/** A text without credentials and without values that a name marks as secret. A line may be an object as JSON. */
export function withoutSecrets(text: string): string {
  return text.replace(PRIVATE_KEY, MASK).split('\n').map(lineWithoutSecrets).join('\n');
}

function lineWithoutSecrets(whole: string): string {
  // Lines of a pod's log begin with the time at which the node has read them.
  const [, time = '', object] = /^(\d[\w:.+-]+ )?(\{.*)$/.exec(whole) ?? [];
  const parsed = object === undefined ? undefined : parseJson(object);
  if (parsed !== undefined) return time + JSON.stringify(redacted(parsed));
  return redactText(shortened(whole))
    .replace(OWN_TOKEN, MASK)
    .replace(WEB_TOKEN, MASK)
    .replace(KNOWN_TOKENS, MASK)
    .replace(COOKIE, (_, name: string) => `${name}${MASK}`)
    .replace(USER, (_, name: string) => `${name}${MASK}`)
    .replace(ASSIGNED, (whole, name: string) => (isFileFlag(name) ? whole : `${name}${MASK}`))
    .replace(FLAG, (whole, flag: string, space: string) => (FILE_FLAG.test(flag) ? whole : `${flag}${space}${MASK}`));
}

/** Cuts a long line between two words: no rule recognises half a secret. */
function shortened(line: string): string {
  if (line.length <= LONGEST_LINE) return line;
  return `${line.slice(0, LONGEST_LINE).replace(/\S+$/, '')}... (${line.length} characters)`;
}

function isFileFlag(name: string): boolean {
  return /file["']?\s*[=:]\s*$/i.test(name);
}

/**
 * A copy of an answer of a server or a cluster without secrets: the content of Secrets, values of members and environment
 * variables with telling names, and credentials in texts. A text may be JSON itself.
 */
export function redacted(value: JsonValue, depth = 0): JsonValue {
  if (typeof value === 'string') return redactedText(value, depth);
  if (Array.isArray(value)) {
    if (depth > DEEPEST) return '[too deep]';
    return value.map((item, index) => (isFlagged(value[index - 1], item) ? MASK : redacted(item, depth + 1)));
  }
  if (!isJsonObject(value)) return value;
  if (depth > DEEPEST) return '[too deep]';
  const members = Object.entries(value).flatMap(([name, member]) =>
    member === undefined ? [] : [[name, redactedMember(value, name, member, depth)] as const],
  );
  return Object.fromEntries(members);
}

function redactedMember(holder: JsonObject, name: string, member: JsonValue, depth: number): JsonValue {
  if (isSecretContent(holder, name)) return maskAll(member);
  if (name === 'value' && typeof holder.name === 'string' && isTellingVariable(holder.name)) return MASK;
  if (isTelling(name)) {
    if (typeof member === 'string' || typeof member === 'number') return MASK;
    if (Array.isArray(member)) {
      return member.map((item) => (typeof item === 'string' ? MASK : redacted(item, depth + 1)));
    }
  }
  if (name === 'kubectl.kubernetes.io/last-applied-configuration') return MASK;
  return redacted(member, depth + 1);
}

/** Whether a member is the content of a Secret, or a digest of it, which would allow to guess the content. */
function isSecretContent({ kind, key, object }: JsonObject, name: string): boolean {
  if (typeof kind === 'string' && namesSecret(kind))
    return name === 'data' || name === 'stringData' || name === 'binaryData';
  if (name !== 'digest' && name !== 'value') return false;
  return (
    (typeof key === 'string' && isKeyOfSecret(key)) ||
    (typeof object === 'string' && namesSecret(object.split(/[./]/, 1)[0] ?? ''))
  );
}

function maskAll(member: JsonValue): JsonValue {
  return isJsonObject(member) ? Object.fromEntries(Object.keys(member).map((name) => [name, MASK])) : MASK;
}

function isTelling(name: string): boolean {
  const plain = plainName(name);
  return SECRET_NAME.test(plain) && !HARMLESS_NAME.test(plain);
}

function isTellingVariable(name: string): boolean {
  const plain = plainName(name);
  return isTelling(name) || (SECRET_VARIABLE.test(plain) && !HARMLESS_NAME.test(plain));
}

function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[_.-]/g, '');
}

/** The second of `['--token', 'x']`. */
function isFlagged(before: JsonValue | undefined, item: JsonValue): boolean {
  if (typeof before !== 'string' || typeof item !== 'string') return false;
  return /^--?[\w-]{1,80}$/.test(before) && isTelling(before) && !item.startsWith('-');
}

/** A text may hold an object as JSON (an annotation). */
function redactedText(text: string, depth: number): string {
  const parsed = /^\s*[{[]/.test(text) && depth <= DEEPEST ? parseJson(text) : undefined;
  return parsed === undefined ? withoutSecrets(text) : JSON.stringify(redacted(parsed, depth + 1));
}
