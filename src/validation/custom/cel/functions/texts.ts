import { type CelList, CelScalar, celFunc, celList, listType } from '@bufbuild/cel';
import type { Meter } from '../../../values/meter.ts';
import { costing, type MeteredFunction, method, reading, searching, stepsOf } from './costs.ts';

/**
 * The functions that make texts from texts. They are our own where the library takes more than linear time, or makes a text
 * before its size is known: each charges the meter for its result before it makes it.
 */
export function textFunctions(meter: Meter): readonly MeteredFunction[] {
  const { INT, STRING } = CelScalar;
  const LIST = listType(CelScalar.DYN);
  const TEXTS = listType(STRING);
  const charge = (parts: number, characters: number): void => meter.charge(parts / 2 + stepsOf(characters));
  const replace = (text: string, old: string, by: string, limit: number): string => {
    // An empty text is found before each character and at the end, as in Go.
    const found = old === '' ? lengthOf(text) + 1 : countOf(text, old, limit);
    const count = limit < 0 ? found : Math.min(found, limit);
    charge(count, text.length + count * (by.length - old.length));
    if (count === 0) return text;
    const parts = old === '' ? partsAround(text, count) : split(text, old, count + 1);
    return parts.join(by);
  };
  const parts = (text: string, separator: string, limit: number): CelList => {
    if (limit === 0) return celList([]);
    const found = separator === '' ? text.length : countOf(text, separator, limit) + 1;
    charge(limit < 0 ? found : Math.min(found, limit), text.length);
    return celList(limit < 0 ? text.split(separator) : split(text, separator, limit));
  };
  const join = (list: CelList, separator: string): string => {
    const texts: string[] = [];
    let characters = separator.length * Math.max(0, list.size - 1);
    for (const item of list) {
      if (typeof item !== 'string')
        throw new Error('invalid argument to function join: list contains non-string value');
      characters += item.length;
      texts.push(item);
    }
    charge(list.size, characters);
    return texts.join(separator);
  };
  return [
    ...costing(
      searching,
      method('replace', STRING, [STRING, STRING], STRING, (self, old, by) => replace(self, old, by, -1)),
      method('replace', STRING, [STRING, STRING, INT], STRING, (self, old, by, limit) =>
        replace(self, old, by, Number(limit)),
      ),
      method('split', STRING, [STRING], TEXTS, (self, separator) => parts(self, separator, -1)),
      method('split', STRING, [STRING, INT], TEXTS, (self, separator, limit) => parts(self, separator, Number(limit))),
    ),
    ...costing(
      reading,
      method('join', LIST, [], STRING, (self) => join(self, '')),
      method('join', LIST, [STRING], STRING, (self, separator) => join(self, separator)),
      method('lowerAscii', STRING, [], STRING, (self) => {
        charge(0, self.length);
        return self.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
      }),
      method('upperAscii', STRING, [], STRING, (self) => {
        charge(0, self.length);
        return self.replaceAll(/[a-z]+/g, (letters) => letters.toUpperCase());
      }),
      celFunc('strings.quote', [STRING], STRING, (text) => {
        // Each character may become two, and is found on its own.
        charge(text.length / 8, 2 * text.length);
        return `"${text.replaceAll(QUOTED, (character) => QUOTES[character] ?? character)}"`;
      }),
      celFunc('size', [STRING], INT, (text) => BigInt(lengthOf(text))),
      method('size', STRING, [], INT, (self) => BigInt(lengthOf(self))),
    ),
  ];
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that are escaped
const QUOTED = /[\0\u0007-\r"\\]/g;
const QUOTES: Readonly<Record<string, string>> = {
  '\0': '\\0',
  '\u0007': '\\a',
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\v': '\\v',
  '\f': '\\f',
  '\r': '\\r',
  '"': '\\"',
  '\\': '\\\\',
};

/** How often a text that is not empty occurs in another one, without overlapping; at most `limit`, if that is not negative. */
function countOf(text: string, part: string, limit: number): number {
  let count = 0;
  for (let at = text.indexOf(part); at >= 0 && count !== limit; at = text.indexOf(part, at + part.length)) count += 1;
  return count;
}

/** At most `limit` parts; the last one holds the rest. */
function split(text: string, separator: string, limit: number): string[] {
  const found: string[] = [];
  let from = 0;
  while (found.length < limit - 1) {
    const at = separator === '' ? (from + 1 < text.length ? from + 1 : -1) : text.indexOf(separator, from);
    if (at < 0) break;
    found.push(text.slice(from, at));
    from = at + separator.length;
  }
  found.push(text.slice(from));
  return found;
}

/** A text cut before its first characters, and at its end, at `count` places. */
function partsAround(text: string, count: number): string[] {
  const found: string[] = [''];
  let at = 0;
  for (const character of text) {
    if (found.length === count) break;
    found.push(character);
    at += character.length;
  }
  found.push(text.slice(at));
  return found;
}

/** The characters of a text, not its UTF-16 code units. */
function lengthOf(text: string): number {
  let pairs = 0;
  for (let at = 0; at < text.length - 1; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0xd800 || code > 0xdbff) continue;
    const next = text.charCodeAt(at + 1);
    if (next >= 0xdc00 && next <= 0xdfff) pairs += 1;
  }
  return text.length - pairs;
}
