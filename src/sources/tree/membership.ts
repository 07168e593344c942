import ignore from 'ignore';

/** The file (gitignore syntax, at the root of the source) that says which files are no manifests. */
export const IGNORE_FILE = '.fleetrelayignore';

/** Which paths of a tree the source reads. */
export interface Membership {
  /** Not excluded by the ignore file. */
  follows(path: string): boolean;
}

/** Is this the name of a manifest? Every other file is passed over in silence. */
export function isManifestName(path: string): boolean {
  return /\.(ya?ml|json)$/i.test(path) && path.length <= 4096;
}

/** Membership by the text of an ignore file; undefined: there is none. */
export function createMembership(ignoreText: string | undefined): Membership {
  if (ignoreText === undefined) return { follows: () => true };
  const rules = ignore({ ignorecase: false, allowRelativePaths: true }).add(ignoreText.replace(/^\uFEFF/, ''));
  return { follows: (path) => !rules.ignores(path) };
}
