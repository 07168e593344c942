import { CelScalar, celFunc, celMethod } from '@bufbuild/cel';
import { nanosOf } from '../../../values/quantities.ts';
import { costing, type MeteredFunction, parsing } from './costs.ts';
import type { OpaqueType } from './opaque.ts';

const NANO = 10n ** 9n;
/** To read a quantity, which is read again in each call. Its digits are limited. */
const STEPS_OF_QUANTITY = 10;

/** The functions of quantities; a quantity is kept in billionths. */
export function quantityFunctions({ type, make, textOf }: OpaqueType): readonly MeteredFunction[] {
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
  return costing(
    parsing(STEPS_OF_QUANTITY),
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
  );
}
