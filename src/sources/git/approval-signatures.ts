import type { SourceDocument } from '../../model/desired.ts';
import type { FileSignatures } from '../../model/file-signature.ts';
import { compareText } from '../../model/json.ts';
import type { GitRepo } from '../../ports/git-repo.ts';
import type { Tree } from '../tree/tree-reader.ts';

/** For each file a commit is verified. */
const MOST_FILES = 20;

/** The verdicts on the files of a revision that hold a RemovalApproval. Rejects if the local copy cannot be read. */
export async function approvalSignatures(
  repo: Pick<GitRepo, 'signaturesOf'>,
  commit: string,
  folder: string,
  { nodes }: Tree,
): Promise<FileSignatures> {
  const files = [...nodes]
    .filter(([, { file }]) => file?.reading.readable === true && file.reading.documents.some(isApproval))
    .sort(([a], [b]) => compareText(a, b));
  const fullPath = (path: string): string => (folder === '' ? path : `${folder}/${path}`);
  const judged = files.slice(0, MOST_FILES).map(([path, { entry }]) => [fullPath(path), entry.blob] as const);
  const verdicts = await repo.signaturesOf(commit, new Map(judged));
  return Object.fromEntries(files.map(([path]) => [path, verdicts.get(fullPath(path)) ?? TOO_MANY]));
}

const TOO_MANY = {
  problem: `the signatures of at most ${MOST_FILES} files with a RemovalApproval are looked at: delete those that were used`,
};

function isApproval({ content }: SourceDocument): boolean {
  return content.type === 'declaration' && content.kind === 'RemovalApproval';
}
