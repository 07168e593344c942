import type { JsonValue } from '../../../model/json.ts';

/** A quantity: `value * base ** exponent`. Numbers with more than 15 digits lose their last ones. */
const FORM = /^([+-]?)(\d*)(?:\.(\d*))?(?:([KMGTPE]i)|([numkMGTPE]?)|[eE]([+-]?\d+))$/;

const BINARY: Readonly<Record<string, number>> = {
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

const DECIMAL: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};

/**
 * The amount of a quantity of Kubernetes (`500m`, `1Gi`, `2`), in its base unit; undefined if the value is none.
 * Good for comparisons; 15 digits are exact.
 */
export function quantityOf(value: JsonValue | undefined): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return undefined;
  const plain = plainNumber(value);
  if (plain !== undefined) return plain;
  const found = FORM.exec(value.trim());
  if (found === null || found[0] === '') return undefined;
  const [, sign = '', whole = '', fraction = '', binary, suffix = '', power] = found;
  const exponent = power === undefined ? (DECIMAL[suffix] ?? 0) : Number(power);
  const amount = Number(`${sign}${whole === '' ? '0' : whole}.${fraction}0e${binary === undefined ? exponent : 0}`);
  return binary === undefined ? amount : amount * (BINARY[binary] ?? 1);
}

/** Whole numbers with a common suffix, which need no expression. */
function plainNumber(text: string): number | undefined {
  let amount = 0;
  let at = 0;
  for (; at < text.length && at < 9; at += 1) {
    const digit = text.charCodeAt(at) - 48;
    if (digit < 0 || digit > 9) break;
    amount = amount * 10 + digit;
  }
  if (at === 0) return undefined;
  const suffix = text.slice(at);
  if (suffix === '') return amount;
  if (suffix === 'm') return amount / 1000;
  return Object.hasOwn(BINARY, suffix) ? amount * (BINARY[suffix] ?? 1) : undefined;
}
