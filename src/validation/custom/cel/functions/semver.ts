import { CelScalar, type CelValue, celFunc } from '@bufbuild/cel';
import {
  compareVersions,
  normalizedVersion,
  parseVersion,
  type SemanticVersion,
} from '../../../../model/text/semantic-version.ts';
import { costing, type MeteredFunction, method, parsing } from './costs.ts';
import type { OpaqueType } from './opaque.ts';

/** To read a version, which is read again in each call. */
const STEPS_OF_VERSION = 10;

/** The functions of semantic versions. */
export function semverFunctions({ type, make, textOf }: OpaqueType): readonly MeteredFunction[] {
  const { BOOL, INT, STRING } = CelScalar;
  const read = (text: string): SemanticVersion => {
    const version = parseVersion(text);
    if (version === undefined) throw new Error(`${JSON.stringify(text)} is no semantic version`);
    return version;
  };
  const isVersion = (text: string) => parseVersion(text) !== undefined;
  const parsed = (text: string) => {
    read(text);
    return make(text);
  };
  const order = (left: CelValue, right: CelValue) => compareVersions(read(textOf(left)), read(textOf(right)));
  const functions = [
    celFunc('semver', [STRING], type, parsed),
    celFunc('semver', [STRING, BOOL], type, (text, normalize) => parsed(normalize ? normalizedVersion(text) : text)),
    celFunc('isSemver', [STRING], BOOL, isVersion),
    celFunc('isSemver', [STRING, BOOL], BOOL, (text, normalize) =>
      isVersion(normalize ? normalizedVersion(text) : text),
    ),
    ...(['major', 'minor', 'patch'] as const).map((name) =>
      method(name, type, [], INT, (self) => read(textOf(self))[name]),
    ),
    method('isLessThan', type, [type], BOOL, (self, other) => order(self, other) < 0),
    method('isGreaterThan', type, [type], BOOL, (self, other) => order(self, other) > 0),
    method('compareTo', type, [type], INT, (self, other) => BigInt(Math.sign(order(self, other)))),
  ];
  return costing(parsing(STEPS_OF_VERSION), ...functions);
}
