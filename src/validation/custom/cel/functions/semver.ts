import { CelScalar, celFunc } from '@bufbuild/cel';
import { compareText } from '../../../../model/text/json.ts';
import { costing, type MeteredFunction, method, parsing } from './costs.ts';
import type { OpaqueType } from './opaque.ts';

const FORM =
  /^(0|[1-9]\d{0,18})\.(0|[1-9]\d{0,18})\.(0|[1-9]\d{0,18})(?:-((?:0|[1-9]\d*|\d*[A-Za-z-][\dA-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][\dA-Za-z-]*))*))?(?:\+[\dA-Za-z-]+(?:\.[\dA-Za-z-]+)*)?$/;

/** To read a version, which is read again in each call. */
const STEPS_OF_VERSION = 10;

/** The functions of semantic versions. */
export function semverFunctions({ type, make, textOf }: OpaqueType): readonly MeteredFunction[] {
  const { BOOL, INT, STRING } = CelScalar;
  const parsed = (text: string): string => {
    if (FORM.test(text)) return text;
    throw new Error(`${JSON.stringify(text)} is no semantic version`);
  };
  const part = (value: Parameters<typeof textOf>[0], at: number): bigint => BigInt(FORM.exec(textOf(value))?.[at] ?? 0);
  const functions = [
    celFunc('semver', [STRING], type, (text) => make(parsed(text))),
    celFunc('semver', [STRING, BOOL], type, (text, normalize) => make(parsed(normalize ? normalized(text) : text))),
    celFunc('isSemver', [STRING], BOOL, (text) => FORM.test(text)),
    celFunc('isSemver', [STRING, BOOL], BOOL, (text, normalize) => FORM.test(normalize ? normalized(text) : text)),
    ...(['major', 'minor', 'patch'] as const).map((name, at) =>
      method(name, type, [], INT, (self) => part(self, at + 1)),
    ),
    method('isLessThan', type, [type], BOOL, (self, other) => compareVersions(textOf(self), textOf(other)) < 0),
    method('isGreaterThan', type, [type], BOOL, (self, other) => compareVersions(textOf(self), textOf(other)) > 0),
    method('compareTo', type, [type], INT, (self, other) => BigInt(compareVersions(textOf(self), textOf(other)))),
  ];
  return costing(parsing(STEPS_OF_VERSION), ...functions);
}

/** Without a leading `v`, with three numbers, and without leading zeros. */
function normalized(text: string): string {
  const [, numbers = '', rest = ''] = /^v?([\d.]*)(.*)$/s.exec(text) ?? [];
  const parts = numbers.split('.').map((part) => part.replace(/^0+(?=\d)/, ''));
  while (parts.length < 3) parts.push('0');
  return parts.join('.') + rest;
}

/** https://semver.org/#spec-item-11 */
function compareVersions(left: string, right: string): -1 | 0 | 1 {
  const [a, b] = [FORM.exec(left) ?? [], FORM.exec(right) ?? []];
  for (const at of [1, 2, 3]) {
    const order = compareNumbers(a[at] ?? '0', b[at] ?? '0');
    if (order !== 0) return order < 0 ? -1 : 1;
  }
  const [before, after] = [a[4], b[4]];
  if (before === undefined || after === undefined) return before === after ? 0 : before === undefined ? 1 : -1;
  const [xs, ys] = [before.split('.'), after.split('.')];
  for (let at = 0; at < Math.max(xs.length, ys.length); at += 1) {
    const order = compareIdentifiers(xs[at], ys[at]);
    if (order !== 0) return order < 0 ? -1 : 1;
  }
  return 0;
}

function compareIdentifiers(x: string | undefined, y: string | undefined): number {
  if (x === undefined || y === undefined) return x === y ? 0 : x === undefined ? -1 : 1;
  const [isNumberX, isNumberY] = [/^\d+$/.test(x), /^\d+$/.test(y)];
  if (isNumberX !== isNumberY) return isNumberX ? -1 : 1;
  if (!isNumberX) return compareText(x, y);
  return compareNumbers(x, y);
}

/** Compares numbers without leading zeros by their digits: long ones take their time as numbers. */
function compareNumbers(x: string, y: string): number {
  return x.length === y.length ? compareText(x, y) : x.length - y.length;
}
