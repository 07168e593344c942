import {
  type CelList,
  CelScalar,
  type CelValue,
  celFunc,
  celList,
  celMap,
  isCelList,
  isCelMap,
  isCelUint,
  listType,
  mapType,
} from '@bufbuild/cel';
import { isMessage } from '@bufbuild/protobuf';
import { isReflectMessage } from '@bufbuild/protobuf/reflect';
import { DurationSchema, TimestampSchema } from '@bufbuild/protobuf/wkt';
import type { Meter } from '../../../values/meter.ts';
import { constant, costing, listing, type MeteredFunction, method } from './costs.ts';
import { createMembers } from './members.ts';

/** The functions of optional values, which are lists with one item or none, and those that rewrite.ts inserts. */
export function internalFunctions(meter: Meter): readonly MeteredFunction[] {
  const { BOOL, DYN, INT, STRING } = CelScalar;
  const LIST = listType(DYN);
  const MAP = mapType(DYN, DYN);
  // The lists that a loop is making; no other expression can see them before they are complete.
  const growing = new WeakMap<CelList, CelValue[]>();
  const present = (list: CelList): boolean => list.size > 0;
  const the = (list: CelList): CelValue => {
    const value = list.get(0);
    if (value === undefined) throw new Error('optional.none() dereference');
    return value;
  };
  return [
    ...costing(
      constant,
      celFunc('@step', [INT, DYN], DYN, (nodes, condition) => {
        meter.charge(Number(nodes));
        return condition;
      }),
      celFunc('@push', [LIST, DYN], LIST, (list, item) => {
        const items = growing.get(list);
        if (items !== undefined) {
          items.push(item);
          return list;
        }
        const started = [...list, item];
        const made = celList(started);
        growing.set(made, started);
        return made;
      }),
      celFunc('@is_present', [LIST], BOOL, present),
      celFunc('@the', [LIST], DYN, the),
      celFunc('@optional_field', [LIST, DYN], LIST, (list, key) => {
        const found = present(list) ? memberOf(the(list), key) : undefined;
        return celList(found === undefined ? [] : [found]);
      }),
      // The library takes a member that is null for missing.
      celFunc('@in', [STRING, MAP], BOOL, (key, map) => map.get(key) !== undefined),
      celFunc('optional.none', [], LIST, () => celList([])),
      celFunc('optional.of', [DYN], LIST, (value) => celList([value])),
      celFunc('optional.ofNonZeroValue', [DYN], LIST, (value) => celList(isZero(value) ? [] : [value])),
      method('hasValue', LIST, [], BOOL, (self) => present(self)),
      method('value', LIST, [], DYN, (self) => the(self)),
      method('orValue', LIST, [DYN], DYN, (self, value) => (present(self) ? the(self) : value)),
      method('or', LIST, [LIST], LIST, (self, other) => (present(self) ? self : other)),
      method('first', LIST, [], LIST, (self) => (self.size === 0 ? self : celList([the(self)]))),
      method('last', LIST, [], LIST, (self) => (self.size === 0 ? self : celList([self.get(self.size - 1) ?? null]))),
    ),
    ...costing(
      listing,
      // A loop copies its range before it begins, even if it ends at the first item.
      celFunc('@range', [DYN], DYN, (range) => range),
      celFunc('@keys', [LIST], LIST, (list) => celList(Array.from({ length: list.size }, (_, at) => BigInt(at)))),
      celFunc('@keys', [MAP], LIST, (map) => celList([...map.keys()])),
      celFunc('@map', [LIST, LIST], MAP, (keys, values) => {
        const members = Array.from(keys, (key, at) => [key as string, values.get(at) ?? null] as const);
        return celMap(createMembers(meter, members));
      }),
    ),
  ];
}

function memberOf(value: CelValue, key: CelValue): CelValue | undefined {
  if (isCelMap(value)) return value.get(key as string);
  if (isCelList(value) && (typeof key === 'bigint' || typeof key === 'number')) return value.get(Number(key));
  throw new Error('no such overload: optional access to a value without members');
}

/** The zero value of Go's times, in seconds of Unix. */
const YEAR_ONE = -62_135_596_800n;

function isZero(value: CelValue): boolean {
  if (isCelList(value) || isCelMap(value)) return value.size === 0;
  if (isCelUint(value)) return value.value === 0n;
  if (!isReflectMessage(value)) return value === null || value === false || value === '' || value === 0 || value === 0n;
  const { message } = value;
  const zero = isMessage(message, TimestampSchema) ? YEAR_ONE : 0n;
  const isTime = isMessage(message, TimestampSchema) || isMessage(message, DurationSchema);
  return isTime && message.seconds === zero && message.nanos === 0;
}
