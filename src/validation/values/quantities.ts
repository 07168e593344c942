import type { JsonValue } from '../../model/text/json.ts';

/** A quantity: sign, digits, and a power of 1024, a power of 1000 or an exponent of ten. */
const FORM = /^([+-]?)(?=\.?\d)(\d*)(?:\.(\d*))?(?:([KMGTPE])i|([numkMGTPE])|[eE]([+-]?\d+))?$/;
const BINARY = 'KMGTPE';
const DECIMAL: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const NANO = 10n ** 9n;
const MAX = (2n ** 63n - 1n) * NANO;
/** The most digits that are computed with; none of Kubernetes has more. */
const MOST_DIGITS = 1000;
/** Larger powers of ten change nothing: the amount is above the maximum or below a billionth. */
const MOST_TENS = MOST_DIGITS + 30;

/** Whether the text is an amount as Kubernetes writes it: `500m`, `1.5`, `2Gi`, `1e3`. */
export function isQuantity(text: string): boolean {
  return FORM.test(text);
}

/** A quantity of Kubernetes in billionths of its unit, rounded up as an API server does; undefined if the text is none. */
export function nanosOf(text: string): bigint | undefined {
  const [all, sign, whole = '', fraction = '', binary, decimal, exponent] = FORM.exec(text) ?? [];
  const digits = whole + fraction;
  if (all === undefined || digits.length > MOST_DIGITS) return undefined;
  const factor = binary === undefined ? 1n : 1024n ** BigInt(BINARY.indexOf(binary) + 1);
  const power = 9 + (decimal === undefined ? Number(exponent ?? 0) : (DECIMAL[decimal] ?? 0)) - fraction.length;
  const amount = BigInt(digits) * factor;
  const scale = 10n ** BigInt(Math.min(Math.abs(power), MOST_TENS));
  const nanos = power >= 0 ? amount * scale : (amount + scale - 1n) / scale;
  const limited = nanos > MAX ? MAX : nanos;
  return sign === '-' ? -limited : limited;
}

/**
 * The amount of a quantity of Kubernetes (`500m`, `1Gi`, `2`), in its base unit; undefined if the value is none.
 * Good for comparisons; 15 digits are exact.
 */
export function quantityOf(value: JsonValue | undefined): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return undefined;
  const plain = plainNumber(value);
  if (plain !== undefined) return plain;
  const nanos = nanosOf(value.trim());
  return nanos === undefined ? undefined : Number(nanos / NANO) + Number(nanos % NANO) / 1e9;
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
  const power = suffix.length === 2 && suffix[1] === 'i' ? BINARY.indexOf(suffix.charAt(0)) + 1 : 0;
  return power > 0 ? amount * 1024 ** power : undefined;
}
