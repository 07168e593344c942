import { CelScalar, celFunc } from '@bufbuild/cel';
import { nanosOf } from '../../../values/quantities.ts';
import { costing, type MeteredFunction, method, parsing } from './costs.ts';
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
    method('isInteger', type, [], BOOL, (self) => nanos(self) % NANO === 0n),
    method('asInteger', type, [], INT, (self) => wholeOf(self)),
    method('asApproximateFloat', type, [], DOUBLE, (self) => Number(nanos(self)) / 1e9),
    method('sign', type, [], INT, (self) => {
      const found = nanos(self);
      return found > 0n ? 1n : found < 0n ? -1n : 0n;
    }),
    method('add', type, [type], type, (self, other) => made(nanos(self) + nanos(other))),
    method('add', type, [INT], type, (self, other) => made(nanos(self) + other * NANO)),
    method('sub', type, [type], type, (self, other) => made(nanos(self) - nanos(other))),
    method('sub', type, [INT], type, (self, other) => made(nanos(self) - other * NANO)),
    method('isLessThan', type, [type], BOOL, (self, other) => nanos(self) < nanos(other)),
    method('isGreaterThan', type, [type], BOOL, (self, other) => nanos(self) > nanos(other)),
    method('compareTo', type, [type], INT, (self, other) => {
      const [left, right] = [nanos(self), nanos(other)];
      return left < right ? -1n : left > right ? 1n : 0n;
    }),
  );
}
