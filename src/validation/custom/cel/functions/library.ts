import { type CelFunc, celEnv, isCelList, isCelMap } from '@bufbuild/cel';
import { strings } from '@bufbuild/cel/ext';
import {
  type Cost,
  comparing,
  constant,
  lengthOf,
  type MeteredFunction,
  membersOf,
  parsing,
  reading,
  readingDigits,
  searching,
  searchingBackwards,
  stepsOf,
} from './costs.ts';

/** An item is compared with each other one: the smaller one ends the comparison. */
const containing: Cost = (weigh, item, range) => {
  if (!isCelList(range))
    return 1 + stepsOf(lengthOf(item)) + (isCelMap(range) && typeof item !== 'string' ? range.size / 8 : 0);
  return 1 + range.size / 2 + Math.min(weigh(range), range.size * weigh(item ?? null));
};

/** Texts, bytes and lists are copied. */
const adding: Cost = (_, left, right) =>
  1 + stepsOf(lengthOf(left) + lengthOf(right)) + (membersOf(left) + membersOf(right)) / 4;

/** Only the characters of a text are counted one by one. */
const sizing: Cost = (_, value) => 1 + stepsOf(typeof value === 'string' ? value.length : 0);

const slicing: Cost = (_, text, from, to) => {
  const end = typeof to === 'bigint' ? Number(to) : lengthOf(text);
  return 1 + stepsOf(Math.max(0, Math.min(end, lengthOf(text)) - Number(from ?? 0)));
};

/** Each value is written once, by at most eight characters for each of its own; numbers by a format that is made anew. */
const formatting: Cost = (weigh, text, list) => {
  const clauses = typeof text === 'string' ? text.split('%').length - 1 : 0;
  const fractions = typeof text === 'string' ? (text.match(/%(?:\.\d*)?f/g)?.length ?? 0) : 0;
  return 1 + 2 * stepsOf(lengthOf(text)) + 8 * weigh(list ?? null) + 10 * clauses + STEPS_OF_LOCALE * fractions;
};

/** Rules of languages and zones are looked up in each call. */
const STEPS_OF_LOCALE = 300;
const inZone: Cost = (_, ...values) => 3 + (values.length > 1 ? STEPS_OF_LOCALE + stepsOf(lengthOf(values[1])) : 0);

const TIMES = (
  'getFullYear getMonth getDate getDayOfMonth getDayOfWeek getDayOfYear getHours getMinutes getSeconds ' +
  'getMilliseconds'
).split(' ');

/** What the functions of the library cost, by their names. */
const COSTS: ReadonlyMap<string, Cost> = new Map([
  ...each(constant, '!_', '-_', '_-_', '_*_', '_/_', '_%_', 'type', 'dyn', 'bool', 'charAt'),
  ...each(comparing, '_==_', '_!=_', '_<_', '_<=_', '_>_', '_>=_', 'startsWith', 'endsWith'),
  ...each(readingDigits, 'int', 'uint', 'double'),
  ...each(reading, 'bytes', 'string', 'trim', 'matches', 'join', 'lowerAscii', 'upperAscii', 'strings.quote'),
  ...each(parsing(10), 'timestamp', 'duration'),
  ...each(sizing, 'size'),
  ...each(searching, 'contains', 'indexOf', 'replace', 'split'),
  ...each(searchingBackwards, 'lastIndexOf'),
  ...each(inZone, ...TIMES),
  ...each(adding, '_+_'),
  ...each(containing, '@in', '_in_'),
  ...each(slicing, 'substring'),
  ...each(formatting, 'format'),
]);

function each(cost: Cost, ...names: readonly string[]): readonly (readonly [string, Cost])[] {
  return names.map((name) => [name, cost]);
}

/** The functions of the library. Throws for one without a cost. */
export function libraryFunctions(): readonly MeteredFunction[] {
  return [...celEnv().funcs, ...strings].map((func: CelFunc) => {
    const cost = COSTS.get(func.name);
    if (cost === undefined) throw new Error(`the function ${func.id} of CEL has no cost: give it one here`);
    return { func, cost };
  });
}
