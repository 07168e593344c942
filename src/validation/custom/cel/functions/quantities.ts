import { type CelFunc, CelScalar, celFunc, celMethod } from '@bufbuild/cel';
import type { OpaqueType } from './opaque.ts';

const FORM = /^([+-]?)(\d*)(?:\.(\d*))?(?:([KMGTPE])i|([numkMGTPE])|[eE]([+-]?\d{1,4}))?$/;
const DECIMAL: Readonly<Record<string, number>> = {
  ...{ n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 },
};
const BINARY = 'KMGTPE';
const NANO = 10n ** 9n;
const MAX = (2n ** 63n - 1n) * NANO;

/** A quantity of Kubernetes in billionths of its unit, rounded up as an API server does; undefined if the text is none. */
export function nanosOf(text: string): bigint | undefined {
  const [all, sign, whole = '', fraction = '', binary, decimal, exponent] = FORM.exec(text) ?? [];
  if (all === undefined || whole + fraction === '') return undefined;
  const factor = binary === undefined ? 1n : 1024n ** BigInt(BINARY.indexOf(binary) + 1);
  const power = 9 + (decimal === undefined ? Number(exponent ?? 0) : (DECIMAL[decimal] ?? 0)) - fraction.length;
  const digits = BigInt(whole + fraction) * factor;
  const scale = 10n ** BigInt(Math.min(Math.abs(power), 400));
  const nanos = power >= 0 ? digits * scale : (digits + scale - 1n) / scale;
  const limited = nanos > MAX ? MAX : nanos;
  return sign === '-' ? -limited : limited;
}

/** The functions of quantities; a quantity is kept in billionths. */
export function quantityFunctions({ type, make, textOf }: OpaqueType): readonly CelFunc[] {
  const { BOOL, DOUBLE, INT, STRING } = CelScalar;
  const nanos = (value: Parameters<typeof textOf>[0]): bigint => BigInt(textOf(value));
  const made = (value: bigint) => make(String(value));
  const parsed = (text: string): bigint => {
    const found = nanosOf(text);
    if (found === undefined) throw new Error(`${JSON.stringify(text)} is no quantity`);
    return found;
  };
  const wholeOf = (value: Parameters<typeof textOf>[0]): bigint => {
    const found = nanos(value);
    if (found % NANO !== 0n) throw new Error('the quantity is no whole number');
    return found / NANO;
  };
  return [
    celFunc('quantity', [STRING], type, (text) => made(parsed(text))),
    celFunc('isQuantity', [STRING], BOOL, (text) => nanosOf(text) !== undefined),
    celMethod('isInteger', type, [], BOOL, function () {
      return nanos(this) % NANO === 0n;
    }),
    celMethod('asInteger', type, [], INT, function () {
      return wholeOf(this);
    }),
    celMethod('asApproximateFloat', type, [], DOUBLE, function () {
      return Number(nanos(this)) / 1e9;
    }),
    celMethod('sign', type, [], INT, function () {
      const found = nanos(this);
      return found > 0n ? 1n : found < 0n ? -1n : 0n;
    }),
    celMethod('add', type, [type], type, function (other) {
      return made(nanos(this) + nanos(other));
    }),
    celMethod('add', type, [INT], type, function (other) {
      return made(nanos(this) + other * NANO);
    }),
    celMethod('sub', type, [type], type, function (other) {
      return made(nanos(this) - nanos(other));
    }),
    celMethod('sub', type, [INT], type, function (other) {
      return made(nanos(this) - other * NANO);
    }),
    celMethod('isLessThan', type, [type], BOOL, function (other) {
      return nanos(this) < nanos(other);
    }),
    celMethod('isGreaterThan', type, [type], BOOL, function (other) {
      return nanos(this) > nanos(other);
    }),
    celMethod('compareTo', type, [type], INT, function (other) {
      const [left, right] = [nanos(this), nanos(other)];
      return left < right ? -1n : left > right ? 1n : 0n;
    }),
  ];
}
