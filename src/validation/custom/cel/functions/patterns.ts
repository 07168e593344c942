import { CelScalar, celFunc, celList, listType } from '@bufbuild/cel';
import { RE2JS } from 're2js';
import { stepsOfMatching } from '../../../../model/text/pattern-size.ts';
import type { Meter } from '../../../values/meter.ts';
import { createPatterns, keepPatterns } from '../../../values/metered-patterns.ts';
import { costing, type MeteredFunction, method, reading } from './costs.ts';

/** The longest pattern that is compiled. */
const MAX_PATTERN = 2_000;

/** The functions of patterns, which match in linear time. What is found is charged before it is added. */
export function patternFunctions(meter: Meter): readonly MeteredFunction[] {
  const { BOOL, INT, STRING } = CelScalar;
  const TEXTS = listType(STRING);
  const patterns = createPatterns(
    meter,
    keepPatterns((pattern) => RE2JS.compile(pattern)),
  );
  const compile = (pattern: string, text: string): RE2JS => {
    if (pattern.length > MAX_PATTERN) throw new Error(`the pattern has more than ${MAX_PATTERN} characters`);
    const found = patterns(pattern);
    meter.charge(stepsOfMatching(found.programSize(), text));
    return found;
  };
  const findAll = (text: string, pattern: string, limit: number): string[] => {
    const matcher = compile(pattern, text).matcher(text);
    const found: string[] = [];
    while ((limit < 0 || found.length < limit) && matcher.find()) {
      meter.charge(1);
      found.push(matcher.group() ?? '');
    }
    return found;
  };
  return costing(
    reading,
    method('matches', STRING, [STRING], BOOL, (self, pattern) => compile(pattern, self).test(self)),
    celFunc('matches', [STRING, STRING], BOOL, (text, pattern) => compile(pattern, text).test(text)),
    method('find', STRING, [STRING], STRING, (self, pattern) => findAll(self, pattern, 1)[0] ?? ''),
    method('findAll', STRING, [STRING], TEXTS, (self, pattern) => celList(findAll(self, pattern, -1))),
    method('findAll', STRING, [STRING, INT], TEXTS, (self, pattern, limit) =>
      celList(findAll(self, pattern, Number(limit))),
    ),
  );
}
