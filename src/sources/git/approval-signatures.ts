import type { SourceDocument } from '../../model/desired.ts';
import type { FileSignature, FileSignatures } from '../../model/file-signature.ts';
import { compareText } from '../../model/json.ts';
import type { GitRepo } from '../../ports/git-repo.ts';
import type { Tree } from '../tree/tree-reader.ts';

/** Each file costs a walk of the history. */
const MOST_FILES = 20;

/** The verdicts on the files of a revision that hold a RemovalApproval. Rejects if the local copy cannot be read. */
export async function approvalSignatures(
  repo: Pick<GitRepo, 'signatureOf'>,
  commit: string,
  folder: string,
  { nodes }: Tree,
): Promise<FileSignatures> {
  const files = [...nodes]
    .filter(([, { file }]) => file?.reading.readable === true && file.reading.documents.some(isApproval))
    .sort(([a], [b]) => compareText(a, b));
  const verdicts: [path: string, verdict: FileSignature][] = [];
  for (const [index, [path, { entry }]] of files.entries()) {
    const fullPath = folder === '' ? path : `${folder}/${path}`;
    const verdict = index < MOST_FILES ? await repo.signatureOf(commit, fullPath, entry.blob) : TOO_MANY;
    verdicts.push([path, verdict]);
  }
  return Object.fromEntries(verdicts);
}

const TOO_MANY = {
  problem: `the signatures of at most ${MOST_FILES} files with a RemovalApproval are looked at: delete those that were used`,
};

function isApproval({ content }: SourceDocument): boolean {
  return content.type === 'declaration' && content.kind === 'RemovalApproval';
}
