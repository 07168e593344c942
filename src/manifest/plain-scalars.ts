import type { FindingReason } from '../model/fleet/diagnostic.ts';

/** The value of a plain (unquoted) scalar; `message` is the predicate of a sentence about a scalar that JSON cannot hold. */
export type PlainScalar =
  | { readonly ok: true; readonly value: null | boolean | number | string }
  | { readonly ok: false; readonly reason: FindingReason; readonly message: string };

/** A plain scalar as the key of a mapping; null cannot be a key. */
export type PlainKey =
  | { readonly ok: true; readonly value: string | null }
  | { readonly ok: false; readonly reason: FindingReason; readonly message: string };

/** The scalars that may be anything but text. All others skip the resolver. */
const MAYBE_TYPED =
  /^(?:$|[-+.0-9~]|(?:y|Y|yes|Yes|YES|n|N|no|No|NO|on|On|ON|off|Off|OFF|true|True|TRUE|false|False|FALSE|null|Null|NULL)$)/;
const WORDS: ReadonlyMap<string, null | boolean> = new Map([
  ...['', '~', 'null', 'Null', 'NULL'].map((word) => [word, null] as const),
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'on', 'On', 'ON', 'true', 'True', 'TRUE'].map((word) => [word, true] as const),
  ...['n', 'N', 'no', 'No', 'NO', 'off', 'Off', 'OFF', 'false', 'False', 'FALSE'].map((word) => [word, false] as const),
]);
/** The words for infinity, and for what is no number. */
const NOT_FINITE = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;
/** A number that begins with its fraction: Go allows underscores only between digits there. */
const FRACTION = /^\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?$/;
/** Both after all underscores were removed, wherever they stood. */
const WHOLE = /^([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))$/;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;

/**
 * Resolves a plain scalar as kubectl does: `yes`, `on`, `y` and the like are booleans, `0644` and `0o644` are octal, `0b11`
 * binary, underscores in numbers do not count, and times and numbers in base 60 are text.
 */
export function resolvePlain(text: string): PlainScalar {
  if (!MAYBE_TYPED.test(text)) return { ok: true, value: text };
  const word = WORDS.get(text);
  if (word !== undefined) return { ok: true, value: word };
  if (NOT_FINITE.test(text)) {
    return { ok: false, reason: 'NumberNotFinite', message: 'is a number that JSON cannot hold' };
  }
  const number = numberOf(text);
  if (number === undefined) return { ok: true, value: text };
  if (number.isWhole && !Number.isSafeInteger(number.value)) {
    return { ok: false, reason: 'NumberTooLarge', message: 'is too large a number to be kept exactly' };
  }
  // JSON has no -0.
  return { ok: true, value: number.value === 0 ? 0 : number.value };
}

/** Resolves a plain scalar that is a key, as kubectl does: the text of the value that it is. */
export function resolveKey(text: string): PlainKey {
  if (!MAYBE_TYPED.test(text)) return { ok: true, value: text };
  const word = WORDS.get(text);
  if (word !== undefined) return { ok: true, value: word === null ? null : String(word) };
  if (NOT_FINITE.test(text)) return { ok: true, value: text.replace('+', '').toLowerCase() };
  const number = numberOf(text);
  if (number === undefined) return { ok: true, value: text };
  if (!number.isWhole) return { ok: true, value: keyOfFloat(number.value) };
  if (Number.isSafeInteger(number.value)) return { ok: true, value: String(number.value === 0 ? 0 : number.value) };
  const exact = /^([-+]?)([1-9][0-9]{0,17})$/.exec(text.replaceAll('_', ''));
  return exact === null
    ? { ok: false, reason: 'NumberTooLarge', message: 'is too large a number to be kept exactly' }
    : { ok: true, value: `${exact[1] === '-' ? '-' : ''}${exact[2]}` };
}

function numberOf(text: string): { readonly value: number; readonly isWhole: boolean } | undefined {
  if (text.startsWith('.')) return FRACTION.test(text) ? floatOf(text.replaceAll('_', '')) : undefined;
  if (text.startsWith('~')) return undefined;
  const plain = text.includes('_') ? text.replaceAll('_', '') : text;
  const whole = WHOLE.exec(plain);
  if (whole === null) return FLOAT.test(plain) ? floatOf(plain) : undefined;
  const [, sign, hexadecimal, binary, octal, decimal] = whole;
  const size = parsed(hexadecimal, 16) ?? parsed(binary, 2) ?? parsed(octal, 8) ?? Number(decimal);
  return { value: sign === '-' ? -size : size, isWhole: true };
}

function parsed(digits: string | undefined, radix: number): number | undefined {
  return digits === undefined ? undefined : Number.parseInt(digits, radix);
}

/** Beyond the range of a double, kubectl reads text. */
function floatOf(text: string): { readonly value: number; readonly isWhole: false } | undefined {
  const value = Number(text);
  return Number.isFinite(value) ? { value, isWhole: false } : undefined;
}

/** The key that a number is, which is not written as one: the value of an alias, or of a tag. */
export function keyOfNumber(value: number): string {
  return Number.isSafeInteger(value) ? String(value) : keyOfFloat(value);
}

/** The shortest digits of the number with 32 bits, with an exponent from a million or below 0.0001, as kubectl writes a key. */
function keyOfFloat(value: number): string {
  const small = Math.fround(value);
  if (!Number.isFinite(small)) return small > 0 ? '.inf' : '-.inf';
  if (small === 0) return Object.is(small, -0) ? '-0' : '0';
  let digits = '';
  for (let count = 1; count <= 9; count += 1) {
    digits = small.toExponential(count - 1);
    if (Math.fround(Number(digits)) === small) break;
  }
  const [mantissa = '', power = '0'] = digits.split('e');
  const exponent = Number(power);
  if (exponent >= -4 && exponent < 6) return Number(digits).toFixed(Math.max(0, decimalsOf(mantissa) - exponent));
  const size = String(Math.abs(exponent)).padStart(2, '0');
  return `${mantissa}e${exponent < 0 ? '-' : '+'}${size}`;
}

function decimalsOf(mantissa: string): number {
  const point = mantissa.indexOf('.');
  return point < 0 ? 0 : mantissa.length - point - 1;
}

/** The warning for a plain scalar that kubectl reads otherwise than YAML 1.2 says. */
export interface YamlSurprise {
  readonly message: string;
  readonly hint: string;
}

/** The warning without the scalar, for files with Secrets. */
export const unquotedSurprise: YamlSurprise = {
  message: 'tools that read YAML 1.2 read this differently than kubectl does',
  hint: 'quote it if text is meant',
};

/** Why a scalar cannot be kept, for texts with Secrets: few numbers are infinite or none. */
export const unquotedRefusal = { reason: 'WrongType', message: 'this cannot be kept as it is written' } as const;

/** The scalars that YAML 1.2 may read otherwise. */
const SUSPECT = /^(?:[-+0-9.]|(?:y|Y|yes|Yes|YES|n|N|no|No|NO|on|On|ON|off|Off|OFF)$)/;
const DECIMAL_12 = /^[-+]?(?:[0-9]+|(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)$/;
const RADIX_12 = /^0(?:o[0-7]+|x[0-9a-fA-F]+)$/;

/** The warning for a plain scalar; undefined: it is the same by YAML 1.2, or an error. */
export function yamlSurprise(text: string, isKey: boolean): YamlSurprise | undefined {
  if (!SUSPECT.test(text)) return undefined;
  if (isKey) return surprisingKey(text);
  const here = resolvePlain(text);
  const there = DECIMAL_12.test(text) || RADIX_12.test(text) ? Number(text) : text;
  if (!here.ok || here.value === there || (here.value === 0 && there === 0)) return undefined;
  const message = `${text} is ${readingOf(here.value)} as for kubectl, but ${readingOf(there)} for tools that read YAML 1.2`;
  const hint =
    typeof here.value === 'string'
      ? `write "${text}" in quotes`
      : `write ${here.value} if that is meant, or "${text}" in quotes`;
  return { message, hint };
}

function surprisingKey(text: string): YamlSurprise | undefined {
  const key = resolveKey(text);
  if (!key.ok || key.value === null || key.value === text) return undefined;
  return {
    message: `the key ${text} is read as "${key.value}", as kubectl does, but not by all tools`,
    hint: `write "${text}" in quotes`,
  };
}

/** The value in words, with its type if it is not text. */
export function readingOf(value: null | boolean | number | string): string {
  if (typeof value === 'boolean') return `the boolean ${value}`;
  if (value === Infinity || value === -Infinity) return 'infinity';
  return typeof value === 'number' ? `the number ${value}` : 'text';
}
