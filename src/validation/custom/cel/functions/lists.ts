import {
  type CelFunc,
  type CelList,
  CelScalar,
  type CelValue,
  celFunc,
  celList,
  isCelList,
  listType,
} from '@bufbuild/cel';
import type { Meter } from '../../../values/meter.ts';
import { costing, listing, type MeteredFunction, method } from './costs.ts';

/** Operators that functions of lists need; they charge the meter. */
export interface Operators {
  /** The order of two values of one type. Throws if they have none. */
  compare(left: CelValue, right: CelValue): number;
  add(left: CelValue, right: CelValue): CelValue;
  equals(left: CelValue, right: CelValue): boolean;
}

/** The functions of lists. */
export function listFunctions(meter: Meter, { compare, add, equals }: Operators): readonly MeteredFunction[] {
  const { BOOL, DYN, INT } = CelScalar;
  const LIST = listType(DYN);
  const best = (name: string, isBetter: (order: number) => boolean): CelFunc =>
    method(name, LIST, [], DYN, (self) => {
      const [first, ...rest] = Array.from(self);
      if (first === undefined) throw new Error(`${name} called on empty list`);
      return rest.reduce((found, item) => (isBetter(compare(item, found)) ? item : found), first);
    });
  const flat = (list: CelList, depth: number): CelValue[] => {
    meter.charge(1 + list.size / 8);
    return Array.from(list).flatMap((item) => (isCelList(item) && depth > 0 ? flat(item, depth - 1) : [item]));
  };
  const distinct = (list: CelList): CelValue[] => {
    const found: CelValue[] = [];
    for (const item of Array.from(list)) {
      if (!found.some((other) => equals(other, item))) found.push(item);
    }
    return found;
  };
  return costing(
    listing,
    method('isSorted', LIST, [], BOOL, (self) => {
      const items = Array.from(self);
      return items.every((item, at) => at === 0 || compare(items[at - 1] ?? item, item) <= 0);
    }),
    method('sum', LIST, [], DYN, (self) => {
      const [first, ...rest] = Array.from(self);
      return first === undefined ? 0n : rest.reduce(add, first);
    }),
    best('min', (order) => order < 0),
    best('max', (order) => order > 0),
    method('indexOf', LIST, [DYN], INT, (self, value) =>
      BigInt(Array.from(self).findIndex((item) => equals(item, value))),
    ),
    method('lastIndexOf', LIST, [DYN], INT, (self, value) =>
      BigInt(Array.from(self).findLastIndex((item) => equals(item, value))),
    ),
    method('slice', LIST, [INT, INT], LIST, (self, from, to) => {
      if (from < 0n || to < from || to > self.size) throw new Error('slice: index out of range');
      return celList(Array.from(self).slice(Number(from), Number(to)));
    }),
    method('flatten', LIST, [], LIST, (self) => celList(flat(self, 1))),
    method('flatten', LIST, [INT], LIST, (self, depth) => {
      if (depth < 0n) throw new Error('flatten: level must be non-negative');
      return celList(flat(self, Number(depth)));
    }),
    method('distinct', LIST, [], LIST, (self) => celList(distinct(self))),
    method('reverse', LIST, [], LIST, (self) => celList(Array.from(self).reverse())),
    method('sort', LIST, [], LIST, (self) => celList(Array.from(self).sort(compare))),
    celFunc('@sort_by', [LIST, LIST], LIST, (list, keys) => {
      const pairs = Array.from(list).map((item, at) => ({ item, key: keys.get(at) ?? null }));
      return celList(pairs.sort((a, b) => compare(a.key, b.key)).map(({ item }) => item));
    }),
    celFunc('lists.range', [INT], LIST, (size) => {
      meter.charge(Math.max(0, Number(size)));
      return celList(Array.from({ length: Math.max(0, Number(size)) }, (_, at) => BigInt(at)));
    }),
  );
}

/** The functions of lists that are read as sets. */
export function setFunctions({ equals }: Operators): readonly MeteredFunction[] {
  const { BOOL, DYN } = CelScalar;
  const LIST = listType(DYN);
  const has = (list: CelList, value: CelValue): boolean => {
    for (const item of list) if (equals(item, value)) return true;
    return false;
  };
  return costing(
    listing,
    celFunc('sets.contains', [LIST, LIST], BOOL, (list, part) => Array.from(part).every((item) => has(list, item))),
    celFunc('sets.intersects', [LIST, LIST], BOOL, (list, other) => Array.from(other).some((item) => has(list, item))),
    celFunc(
      'sets.equivalent',
      [LIST, LIST],
      BOOL,
      (list, other) =>
        Array.from(other).every((item) => has(list, item)) && Array.from(list).every((item) => has(other, item)),
    ),
  );
}
