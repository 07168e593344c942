const BRANCH = /^refs\/heads\/.+/;
const COMMIT = /^[0-9a-f]{40}([0-9a-f]{24})?$/;
const LONGEST = 250;

/**
 * Why a text is no ref that can be planned, as the end of a sentence; undefined: it is one. A branch of the repository by its
 * name or full name is one; other refs and commits can be of a fork, whose author may be a stranger.
 *
 * @param forks whether refs of forks are allowed
 */
export function refProblem(ref: string, forks: boolean): string | undefined {
  if (ref === '' || ref.length > LONGEST) return `is no name of a branch: it has 1 to ${LONGEST} characters`;
  const isBranch = ref.startsWith('refs/') ? BRANCH.test(ref) : !COMMIT.test(ref);
  if (isBranch || forks) return undefined;
  return 'is no branch of the repository and can be of a fork: name a branch, or set pullRequests.forks of the source in the RelayConfig';
}
