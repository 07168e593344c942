import { compareText } from './json.ts';

/** A version. Build metadata (`+k3s1`) is not compared and so not kept. */
export interface SemanticVersion {
  readonly major: bigint;
  readonly minor: bigint;
  readonly patch: bigint;
  /** The identifiers after the `-`; empty: none. */
  readonly prerelease: readonly string[];
}

const NUMBER = '(0|[1-9]\\d{0,18})';
const IDENTIFIER = '(?:0|[1-9]\\d*|\\d*[A-Za-z-][\\dA-Za-z-]*)';
const METADATA = '[\\dA-Za-z-]+(?:\\.[\\dA-Za-z-]+)*';
const VERSION = new RegExp(
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-(${IDENTIFIER}(?:\\.${IDENTIFIER})*))?(?:\\+${METADATA})?$`,
);

/** Reads a version exactly as Semantic Versioning writes it; undefined: the text is none. Source: https://semver.org. */
export function parseVersion(text: string): SemanticVersion | undefined {
  const found = VERSION.exec(text);
  if (found === null) return undefined;
  const [, major = '', minor = '', patch = '', prerelease] = found;
  return {
    major: BigInt(major),
    minor: BigInt(minor),
    patch: BigInt(patch),
    prerelease: prerelease?.split('.') ?? [],
  };
}

/** The text as a version is written: without a leading `v`, with three numbers, and without leading zeros. */
export function normalizedVersion(text: string): string {
  const [, numbers = '', rest = ''] = /^v?([\d.]*)(.*)$/s.exec(text) ?? [];
  const parts = numbers.split('.').map((part) => part.replace(/^0+(?=\d)/, ''));
  while (parts.length < 3) parts.push('0');
  return parts.join('.') + rest;
}

/** Longer texts are no versions of a release: their identifiers would be compared for nothing. */
const LONGEST = 128;

/** Reads a version also with a leading `v` and without a minor or patch number (`v1.33`); undefined: the text is no version. */
export function parseLooseVersion(text: string): SemanticVersion | undefined {
  return text.length > LONGEST ? undefined : parseVersion(normalizedVersion(text));
}

/** Orders versions as Semantic Versioning does: a version with a prerelease is before the one without. */
export function compareVersions(a: SemanticVersion, b: SemanticVersion): number {
  const differing = (['major', 'minor', 'patch'] as const).find((part) => a[part] !== b[part]);
  if (differing !== undefined) return a[differing] < b[differing] ? -1 : 1;
  return comparePrereleases(a.prerelease, b.prerelease);
}

/**
 * Whether `version` fulfils `~ from`: the same minor version, and not before `from`. A version with a prerelease fulfils only a
 * constraint with one.
 */
export function isSameMinorFrom(from: SemanticVersion, version: SemanticVersion): boolean {
  if (version.prerelease.length > 0 && from.prerelease.length === 0) return false;
  return version.major === from.major && version.minor === from.minor && compareVersions(version, from) >= 0;
}

function comparePrereleases(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 || b.length === 0) return b.length - a.length;
  const at = a.findIndex((identifier, index) => identifier !== b[index]);
  if (at < 0) return a.length - b.length;
  const [left, right] = [a[at] ?? '', b[at]];
  if (right === undefined) return 1;
  const [isNumber, isOther] = [/^\d+$/.test(left), /^\d+$/.test(right)];
  if (isNumber !== isOther) return isNumber ? -1 : 1;
  // Numbers have no leading zeros: the longer one is larger. As bigints, long ones would take their time.
  return (isNumber && left.length - right.length) || compareText(left, right);
}
