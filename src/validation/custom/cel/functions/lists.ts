import {
  type CelFunc,
  type CelList,
  CelScalar,
  type CelValue,
  celFunc,
  celList,
  celMethod,
  isCelList,
  listType,
} from '@bufbuild/cel';
import type { Meter } from '../../../values/meter.ts';
import { costing, listing, type MeteredFunction } from './costs.ts';

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
    celMethod(name, LIST, [], DYN, function () {
      const [first, ...rest] = Array.from(this);
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
    celMethod('isSorted', LIST, [], BOOL, function () {
      const items = Array.from(this);
      return items.every((item, at) => at === 0 || compare(items[at - 1] ?? item, item) <= 0);
    }),
    celMethod('sum', LIST, [], DYN, function () {
      const [first, ...rest] = Array.from(this);
      return first === undefined ? 0n : rest.reduce(add, first);
    }),
    best('min', (order) => order < 0),
    best('max', (order) => order > 0),
    celMethod('indexOf', LIST, [DYN], INT, function (value) {
      return BigInt(Array.from(this).findIndex((item) => equals(item, value)));
    }),
    celMethod('lastIndexOf', LIST, [DYN], INT, function (value) {
      return BigInt(Array.from(this).findLastIndex((item) => equals(item, value)));
    }),
    celMethod('slice', LIST, [INT, INT], LIST, function (from, to) {
      if (from < 0n || to < from || to > this.size) throw new Error('slice: index out of range');
      return celList(Array.from(this).slice(Number(from), Number(to)));
    }),
    celMethod('flatten', LIST, [], LIST, function () {
      return celList(flat(this, 1));
    }),
    celMethod('flatten', LIST, [INT], LIST, function (depth) {
      if (depth < 0n) throw new Error('flatten: level must be non-negative');
      return celList(flat(this, Number(depth)));
    }),
    celMethod('distinct', LIST, [], LIST, function () {
      return celList(distinct(this));
    }),
    celMethod('reverse', LIST, [], LIST, function () {
      return celList(Array.from(this).reverse());
    }),
    celMethod('sort', LIST, [], LIST, function () {
      return celList(Array.from(this).sort(compare));
    }),
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
