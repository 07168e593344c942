/** A process that follows one repository with one adapter, and says how long it took. */
import process from 'node:process';
import { createNativeGitRepo } from '../../src/adapters/git/native-git-repo.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createPinoLog } from '../../src/adapters/system/pino-log.ts';
import { defaultRevisionLimits } from '../../src/model/limits/revision-limits.ts';
import { must } from '../../src/model/values/result.ts';
import type { GitRepo } from '../../src/ports/git-repo.ts';
import { isomorphicRepo } from '../../test/support/isomorphic-repo.ts';

/** What the process is told first. After that each message is a request to look again. */
export interface FollowRequest {
  readonly adapter: 'native' | 'isomorphic';
  readonly remote: string;
  readonly directory: string;
}

/** What it answers to each message. */
export interface FollowAnswer {
  readonly millis: number;
  readonly files: number;
  readonly commit: string;
}

let repo: GitRepo | undefined;
let last: string | null = null;

process.on('message', (request: FollowRequest | 'look') => {
  if (request !== 'look') repo = open(request);
  void look().then((answer) => process.send?.(answer));
});
process.on('disconnect', () => void repo?.close().then(() => process.exit(0)));

function open({ adapter, ...options }: FollowRequest): GitRepo {
  const branch = 'main';
  if (adapter === 'isomorphic') return must(isomorphicRepo({ ...options, branch }));
  const deps = { clock: createSystemClock(), log: createPinoLog({ level: 'error' }), environment: process.env };
  return must(createNativeGitRepo(deps, { ...options, branch }));
}

/** What a source does at each look: fetches, measures, compares, and reads what has changed. */
async function look(): Promise<FollowAnswer> {
  const began = performance.now();
  const outcome = await repo?.fetch();
  if (repo === undefined || outcome?.type !== 'fetched') throw new Error(JSON.stringify(outcome));
  const { commit } = outcome;
  if (last !== null && !(await repo.isAncestor(last, commit))) throw new Error('the history was not understood');
  const excess = await repo.measure(commit, '', defaultRevisionLimits);
  if (excess !== undefined) throw new Error('the repository is above a limit');
  const changes = await repo.diff(last, commit, '');
  const { readBlob } = repo;
  const read = await Promise.all(changes.map(({ entry }) => readBlob(entry?.blob ?? '', 1024 * 1024)));
  const files = read.filter(({ type }) => type === 'read').length;
  last = commit;
  return { millis: performance.now() - began, files, commit };
}
