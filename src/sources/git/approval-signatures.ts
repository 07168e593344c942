import type { SourceDocument } from '../../model/fleet/desired.ts';
import type { FileSignature, FileSignatures } from '../../model/fleet/file-signature.ts';
import { compareText } from '../../model/text/json.ts';
import type { GitRepo } from '../../ports/git-repo.ts';
import type { RefChanges } from '../../ports/source.ts';
import type { Tree } from '../tree/tree-reader.ts';

/** For each file a commit is verified. */
const MOST_FILES = 20;

/**
 * The verdicts on the files of a revision that hold a RemovalApproval. `signaturesOf` judges files of the revision, by their path in
 * the source with their blob; see {@link signaturesAt}. Rejects if the local copy cannot be read.
 */
export async function approvalSignatures(
  signaturesOf: RefChanges['signaturesOf'],
  { nodes }: Tree,
): Promise<FileSignatures> {
  const files = [...nodes]
    .filter(([, { file }]) => file?.reading.readable === true && file.reading.documents.some(isApproval))
    .sort(([a], [b]) => compareText(a, b));
  const judged = files.slice(0, MOST_FILES).map(([path, { entry }]) => [path, entry.blob] as const);
  const verdicts = await signaturesOf(new Map(judged));
  return Object.fromEntries(files.map(([path]) => [path, verdicts.get(path) ?? TOO_MANY]));
}

/** Judges files of a commit by their path in the folder of the source. */
export function signaturesAt(
  repo: Pick<GitRepo, 'signaturesOf'>,
  commit: string,
  folder: string,
): RefChanges['signaturesOf'] {
  const fullPath = (path: string): string => (folder === '' ? path : `${folder}/${path}`);
  return async (files) => {
    const verdicts = await repo.signaturesOf(commit, new Map([...files].map(([path, blob]) => [fullPath(path), blob])));
    return new Map([...files.keys()].flatMap((path) => verdictAt(path, verdicts.get(fullPath(path)))));
  };
}

function verdictAt(path: string, verdict: FileSignature | undefined): readonly (readonly [string, FileSignature])[] {
  return verdict === undefined ? [] : [[path, verdict]];
}

const TOO_MANY = {
  problem: `the signatures of at most ${MOST_FILES} files with a RemovalApproval are looked at: delete those that were used`,
};

function isApproval({ content }: SourceDocument): boolean {
  return content.type === 'declaration' && content.kind === 'RemovalApproval';
}
