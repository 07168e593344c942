/** A version of Kubernetes or of a kubelet. Build metadata (`+k3s1`) is not compared and so not kept. */
export interface SemanticVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  /** The identifiers after the `-`; empty: none. */
  readonly prerelease: readonly string[];
  /** The text names no minor or no patch version. */
  readonly isPartial: boolean;
}

const IDENTIFIERS = '[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*';
const VERSION = new RegExp(
  `^v?(\\d{1,9})(?:\\.(\\d{1,9}))?(?:\\.(\\d{1,9}))?(?:-(${IDENTIFIERS}))?(?:\\+${IDENTIFIERS})?$`,
);
/** Longer texts are no versions: their identifiers would be compared for nothing. */
const LONGEST = 128;

/** Reads `1.33.2`, `v1.33.2-gke.1` or `1.33`; undefined: the text is no version. */
export function parseVersion(text: string): SemanticVersion | undefined {
  const found = text.length > LONGEST ? null : VERSION.exec(text);
  if (found === null) return undefined;
  const [, major, minor, patch, prerelease] = found;
  return {
    major: Number(major),
    minor: Number(minor ?? 0),
    patch: Number(patch ?? 0),
    prerelease: prerelease?.split('.') ?? [],
    isPartial: patch === undefined,
  };
}

/** Orders versions as Semantic Versioning does: a version with a prerelease is before the one without. */
export function compareVersions(a: SemanticVersion, b: SemanticVersion): number {
  return a.major - b.major || a.minor - b.minor || a.patch - b.patch || comparePrereleases(a.prerelease, b.prerelease);
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
  if (isNumber && Number(left) !== Number(right)) return Number(left) - Number(right);
  return left < right ? -1 : 1;
}
