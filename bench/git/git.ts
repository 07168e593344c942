/** How fast a repository of 20,000 files is followed by each adapter, and how much memory that takes. */
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { createSmartHttpServer } from '../../scripts/local/smart-http-server.ts';
import { createGitSandbox, type GitSandbox, hermeticGit } from '../../test/support/git-sandbox.ts';
import { memoryOf } from '../process-figures.ts';
import { percentile } from '../push/percentile.ts';
import type { FollowAnswer, FollowRequest } from './follow.ts';

const FILES = Number(process.env.BENCH_FILES ?? 20_000);
const COMMITS = Number(process.env.BENCH_COMMITS ?? 1_000);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 15);
const SAMPLE_MILLIS = 20;

interface Figures {
  readonly firstSyncMillis: number;
  readonly oneFileMillis: number;
  readonly peakMiB: number;
}

export async function run(args: readonly string[]): Promise<void> {
  const box = createGitSandbox();
  const bare = box.bare('fleet');
  fill(bare);
  const server = createSmartHttpServer({ root: box.served, searchPath: process.env.PATH ?? '' });
  const remote = `${(await server.start()).url}/fleet.git`;
  try {
    const native = await follow(box, bare, { adapter: 'native', remote, directory: join(box.path, 'native') });
    const isomorphic = await follow(box, bare, { adapter: 'isomorphic', remote, directory: join(box.path, 'pure') });
    const result = { files: FILES, commits: COMMITS, rounds: ROUNDS, native, isomorphic };
    if (args.includes('--json')) console.log(JSON.stringify(result, null, 2));
    else print(result);
  } finally {
    await server.stop();
    box.remove();
  }
}

function print({ native, isomorphic }: { readonly native: Figures; readonly isomorphic: Figures }): void {
  console.log(`${FILES} files, ${COMMITS} commits          native   isomorphic`);
  for (const name of ['firstSyncMillis', 'oneFileMillis', 'peakMiB'] as const) {
    console.log(`${name.padEnd(28)}${native[name].toFixed(1).padStart(10)}${isomorphic[name].toFixed(1).padStart(13)}`);
  }
}

function pathOf(index: number): string {
  return `clusters/c${index % 200}/config-${index}.yaml`;
}

function manifestOf(index: number, revision: string): string {
  const data = Array.from(
    { length: 10 },
    (_, line) => `  key-${line}: value ${(index * 7_919 + line * 104_729) % 1_000_003}`,
  );
  return `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config-${index}\n  namespace: default\ndata:\n  revision: "${revision}"\n${data.join('\n')}\n`;
}

/** Writes all files in a first commit and one of them in each further one. */
function fill(bare: string): void {
  const data = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}\n`;
  const head = (at: number): string =>
    `commit refs/heads/main\ncommitter A <a@example.com> ${1_700_000_000 + at} +0000\ndata 1\nx\n`;
  const file = (index: number, revision: string): string =>
    `M 100644 inline ${pathOf(index)}\n${data(manifestOf(index, revision))}`;
  const first = head(0) + Array.from({ length: FILES }, (_, index) => file(index, 'first')).join('');
  const later = Array.from(
    { length: COMMITS - 1 },
    (_, at) => `${head(at + 1)}${file((at * 31) % FILES, `old ${at}`)}`,
  );
  execFileSync('git', ['fast-import', '--quiet'], { cwd: bare, env: hermeticGit, input: [first, ...later].join('') });
  execFileSync('git', ['repack', '-adq'], { cwd: bare, env: hermeticGit });
}

async function follow(box: GitSandbox, bare: string, request: FollowRequest): Promise<Figures> {
  mkdirSync(request.directory);
  const child = fork(fileURLToPath(new URL('./follow.ts', import.meta.url)));
  const ending = new AbortController();
  child.once('exit', () => ending.abort());
  const ask = async (message: FollowRequest | 'look'): Promise<FollowAnswer> => {
    child.send(message);
    const [answer] = (await once(child, 'message', { signal: ending.signal })) as [FollowAnswer];
    return answer;
  };
  let peakMiB = 0;
  const sampling = setInterval(() => {
    peakMiB = Math.max(peakMiB, familyMiB(child.pid ?? 0));
  }, SAMPLE_MILLIS);
  try {
    const first = await ask(request);
    if (first.files !== FILES) throw new Error(`${first.files} files were read`);
    const rounds: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const index = (round * 101) % FILES;
      const commit = box.push(bare, { [pathOf(index)]: manifestOf(index, `${request.adapter} ${round}`) });
      const answer = await ask('look');
      if (answer.commit !== commit || answer.files !== 1) throw new Error('another revision was read');
      rounds.push(answer.millis);
    }
    return {
      firstSyncMillis: first.millis,
      oneFileMillis: percentile(
        rounds.toSorted((a, b) => a - b),
        50,
      ),
      peakMiB,
    };
  } finally {
    clearInterval(sampling);
    child.disconnect();
    await once(child, 'exit');
  }
}

/** Memory of a process and of all processes that it has started. */
function familyMiB(root: number): number {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((each) => /^\d+$/.test(each))) {
    try {
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
      parents.set(Number(name), Number(fields[1]));
    } catch {
      // It has ended.
    }
  }
  let total = 0;
  for (const pid of parents.keys()) {
    let at: number | undefined = pid;
    while (at !== undefined && at !== root) at = parents.get(at);
    if (at === root) total += restOf(pid);
  }
  return total;
}

function restOf(pid: number): number {
  try {
    return memoryOf(pid).restMiB || 0;
  } catch {
    return 0;
  }
}
