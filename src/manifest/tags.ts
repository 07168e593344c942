import { Buffer, isUtf8 } from 'node:buffer';
import { resolvePlain } from './plain-scalars.ts';

/** What kubectl makes of the tag of a value. */
export type TagReading =
  /** It reads the value with the tag. */
  | 'read'
  /** It leaves the tag out. The author may mean another tool, or a text that begins with an exclamation mark. */
  | 'dropped'
  /** It refuses the tag, or it is not known what it makes of it. */
  | 'refused';

const YAML_TAG = 'tag:yaml.org,2002:';
const READ_OF_SCALARS: readonly string[] = ['str', 'int', 'float', 'bool', 'null', 'binary'];
const READ_OF_COLLECTIONS: readonly string[] = ['map', 'seq', 'set'];
/** Escapes in tags are not decoded here. */
const WELL_FORMED = /^!(?:!?[\w./:;?@&=+$~*'()-]*|<[\w.,/:;?@&=+$~*'()!-]+>)$/;

/** @param next the character after the tag; undefined at the end of the text */
export function readingOfTag(tag: string, isScalar: boolean, next: string | undefined): TagReading {
  if (!WELL_FORMED.test(tag) || (next !== undefined && !/\s/.test(next))) return 'refused';
  const name = nameOfTag(tag);
  // Kubectl reads a time as text, but refuses what is no time; a merge key with a tag merges.
  if (name === undefined) return tag === '!' || tag === '!<!>' ? 'read' : 'dropped';
  if (name === 'merge' || (isScalar && name === 'timestamp')) return 'refused';
  return (isScalar ? READ_OF_SCALARS : READ_OF_COLLECTIONS).includes(name) ? 'read' : 'dropped';
}

/** The name of a tag of YAML itself, as `int` of `!!int`; undefined: it is another tag. */
function nameOfTag(tag: string): string | undefined {
  if (tag.startsWith('!!')) return tag.slice(2);
  const long = tag.startsWith('!<') ? tag.slice(2, -1) : '';
  return long.startsWith(YAML_TAG) ? long.slice(YAML_TAG.length) : undefined;
}

/** The tags whose scalars are resolved as if they had no quotes, and what they may become. */
const TYPES: ReadonlyMap<string, string> = new Map([
  ['int', 'number'],
  ['float', 'number'],
  ['bool', 'boolean'],
  ['null', 'object'],
]);

/** The value of a scalar with a tag that is not refused; undefined: it is not what the tag says. */
export function taggedValue(tag: string, source: string): null | boolean | number | string | undefined {
  const name = nameOfTag(tag) ?? '';
  if (name === 'binary') return textOfBase64(source);
  const type = TYPES.get(name);
  if (type === undefined) return source;
  const plain = resolvePlain(source);
  if (!plain.ok || typeof plain.value !== type) return undefined;
  return name === 'int' && !Number.isInteger(plain.value) ? undefined : plain.value;
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Undefined: it is no base64, or the bytes are no UTF-8. */
function textOfBase64(source: string): string | undefined {
  const encoded = source.replace(/[\r\n]/g, '');
  if (!BASE64.test(encoded)) return undefined;
  const bytes = Buffer.from(encoded, 'base64');
  return isUtf8(bytes) ? bytes.toString() : undefined;
}
