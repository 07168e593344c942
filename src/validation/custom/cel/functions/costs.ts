import {
  type CelFunc,
  type CelInput,
  type CelType,
  type CelValue,
  celMethod,
  isCelList,
  isCelMap,
} from '@bufbuild/cel';
import { isReflectMessage, type ReflectMessage } from '@bufbuild/protobuf/reflect';

/** How many characters of a text, or bytes, a step reads or makes. */
const CHARACTERS_OF_STEP = 16;

/**
 * What a call costs in steps, from its target, if it has one, and its arguments. It is counted before the call runs, so it says what
 * the function reads and what it will make. A function that cannot say so before it begins charges the meter itself for each part
 * before it makes it, and has the cost of beginning here.
 */
export type Cost = (weigh: Weigh, ...values: CelValue[]) => number;

/** How much a value holds, in steps: its members and theirs, and its characters. */
export type Weigh = (value: CelValue) => number;

/** A function of CEL with its cost. The environment takes no other ones. */
export interface MeteredFunction {
  readonly func: CelFunc;
  readonly cost: Cost;
}

type Implementation<Target extends CelType, Types extends readonly CelType[], Result extends CelType> = Parameters<
  typeof celMethod<Target, Types, Result>
>[4];

/** A function that is called on a target: `target.name(...)`. */
export function method<
  const Target extends CelType,
  const Types extends readonly CelType[],
  const Result extends CelType,
>(
  name: string,
  target: Target,
  types: Types,
  result: Result,
  call: (self: CelValue<Target>, ...values: Parameters<Implementation<Target, Types, Result>>) => CelInput<Result>,
): CelFunc {
  return celMethod(name, target, types, result, function (...values) {
    return call(this, ...values);
  });
}

/** Gives functions a cost. */
export function costing(cost: Cost, ...functions: readonly CelFunc[]): readonly MeteredFunction[] {
  return functions.map((func) => ({ func, cost }));
}

/** The steps to read or make a text of this length, or this number of bytes. */
export function stepsOf(characters: number): number {
  return characters / CHARACTERS_OF_STEP;
}

/** The call looks at a few members at most. */
export const constant: Cost = () => 1;

/** The call reads all of its values once. */
export const reading: Cost = (weigh, ...values) => values.reduce<number>((sum, value) => sum + weigh(value), 1);

/** The call reads its values and does this number of steps beside. */
export function parsing(steps: number): Cost {
  return (weigh, ...values) => steps + 2 * reading(weigh, ...values);
}

/** The call compares two values and ends where the smaller one ends. */
export const comparing: Cost = (weigh, left, right) => 1 + Math.min(weigh(left ?? null), weigh(right ?? null));

/** The call looks at the members of lists and mappings, not into them. */
export const listing: Cost = (_, ...values) => values.reduce<number>((sum, value) => sum + membersOf(value) / 8, 1);

/** The members of a list or mapping. */
export function membersOf(value: CelValue | undefined): number {
  return isCelList(value) || isCelMap(value) ? value.size : 0;
}

/** The call reads a number: twice as many digits take up to four times as long. */
export const readingDigits: Cost = (_, ...values) =>
  values.reduce<number>((sum, value) => sum + stepsOf(lengthOf(value)) + (lengthOf(value) / 512) ** 2, 2);

/** Search skips at most this number of characters at a time, and may compare the complete text that it seeks between. */
const SKIP = 250;

/** The call seeks the second text in the first one, from its beginning. */
export const searching: Cost = (_, text, sought) => 1 + stepsOf(lengthOf(text)) * (1 + lengthOf(sought) / SKIP);

/** The call seeks the second text in the first one from its end, and compares it at each place. */
export const searchingBackwards: Cost = (_, text, sought) => 1 + stepsOf(lengthOf(text)) * (1 + lengthOf(sought) / 4);

/** The characters of a text, or the number of bytes; zero for other values. */
export function lengthOf(value: CelValue | undefined): number {
  return typeof value === 'string' || value instanceof Uint8Array ? value.length : 0;
}

/** Makes what weighs values. It looks at each list and mapping once: what one holds does not change. */
export function createWeigh(): Weigh {
  const weights = new WeakMap<object, number>();
  const weigh: Weigh = (value) => {
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return stepsOf(lengthOf(value));
    const known = weights.get(value);
    if (known !== undefined) return known;
    let found = 1;
    if (isCelList(value)) for (const item of value) found += 1 + weigh(item);
    else if (isCelMap(value)) for (const [key, item] of value) found += 1 + weigh(key) + weigh(item);
    else if (isReflectMessage(value)) found += stepsOf(textIn(value));
    weights.set(value, found);
    return found;
  };
  return weigh;
}

/** Addresses, quantities and the like hold their text: see opaque.ts. */
function textIn({ message }: ReflectMessage): number {
  return 'text' in message && typeof message.text === 'string' ? message.text.length : 0;
}
