import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSmartHttpServer, type SmartHttpServer } from '../../../scripts/local/smart-http-server.ts';
import { createNativeGitRepo } from '../../../src/adapters/git/native-git-repo.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { parseFleetName, parseSourceName } from '../../../src/model/fleet/ids.ts';
import { must } from '../../../src/model/values/result.ts';
import type { Source } from '../../../src/ports/source.ts';
import { createGitStatusSink, type GitStatusSink } from '../../../src/sinks/git/status-sink.ts';
import { createGitSource } from '../../../src/sources/git/git-source.ts';
import { createKeptLog } from '../../support/git-quiet-log.ts';
import { createGitSandbox, type GitSandbox, hermeticGit, writeFiles } from '../../support/git-sandbox.ts';
import { isomorphicRepo } from '../../support/isomorphic-repo.ts';
import { createSourceRecorder, createTestDecoder, type SourceRecorder } from '../../support/source-recorder.ts';

const run = promisify(execFile);
const clock = createSystemClock();
const random = { next: () => 0.5, id: () => 'id' };
let box: GitSandbox;
let bare: string;
let server: SmartHttpServer;
let remote: string;
let source: Source | undefined;
let pushed: () => void;
const sinks: GitStatusSink[] = [];

beforeEach(async () => {
  box = createGitSandbox();
  bare = box.bare('fleet');
  pushed = () => undefined;
  server = createSmartHttpServer({ root: box.served, searchPath: process.env.PATH ?? '', pushed: () => pushed() });
  remote = `${(await server.start()).url}/fleet.git`;
});

afterEach(async () => {
  await source?.stop();
  for (const sink of sinks.splice(0)) await sink.stop();
  await server.stop();
  box.remove();
});

/** How the repositories of a test are read. */
let adapter: 'native' | 'isomorphic' = 'native';

function repo(branch: string, directory: string) {
  const environment = { PATH: process.env.PATH };
  const options = { remote, branch, directory: join(box.path, directory), deadlineSeconds: 120 };
  if (adapter === 'isomorphic') return must(isomorphicRepo(options));
  return must(createNativeGitRepo({ clock, log: createKeptLog(), environment }, options));
}

function follow(directory: string, admitted?: string): SourceRecorder {
  const { decode } = createTestDecoder();
  source = createGitSource(
    { repo: repo('main', directory), decode, clock, random, log: createKeptLog() },
    { name: must(parseSourceName('fleet')), pollIntervalSeconds: 3600 },
  );
  const told = createSourceRecorder();
  source.start(told, admitted, []);
  return told;
}

function statusSink(directory: string): GitStatusSink {
  const sink = createGitStatusSink(
    { repo: repo('status', directory), clock, random, log: createKeptLog() },
    { fleet: must(parseFleetName('prod')), author: { name: 'f', email: 'f@example.com' }, minIntervalSeconds: 0 },
  );
  sinks.push(sink);
  return sink;
}

/** Not by the sandbox, which would keep this process, and with it the server, from answering. */
async function pushOverHttp(files: Readonly<Record<string, string>>): Promise<string> {
  const work = join(box.path, 'pusher');
  const git = async (...args: string[]): Promise<string> =>
    (await run('git', ['-C', work, ...args], { env: hermeticGit })).stdout.trim();
  await run('git', ['clone', '--quiet', remote, work], { env: hermeticGit });
  writeFiles(work, files);
  await git('add', '.');
  await git('commit', '--quiet', '-m', 'By HTTP');
  await git('push', '--quiet', 'origin', 'HEAD:main');
  return git('rev-parse', 'HEAD');
}

const until = (check: () => unknown): Promise<void> => expect.poll(check, { interval: 5 }).toBeTruthy();

test.each(['native', 'isomorphic'] as const)(
  'a push over HTTP reaches the source at once by the hook, and a restart asks for what it had (%s)',
  async (name) => {
    adapter = name;
    const first = box.push(bare, { 'a.yaml': 'a', '.fleetrelayignore': 'ci/\n', 'ci/x.yaml': 'bad' });
    const told = follow('source');
    await until(() => told.lastCondition()?.revision === first);
    pushed = () => source?.trigger();
    const second = await pushOverHttp({ 'b.yaml': 'bad' });
    await until(() => told.lastCondition()?.revision === second);
    expect(told.lastCondition()).toMatchObject({ state: 'synced', reason: 'Partial' });
    await source?.stop();
    const rewritten = box.push(bare, { 'c.yaml': 'c' }, { orphan: true });
    const again = follow('source', second);
    await until(() => again.lastCondition()?.state === 'refused');
    expect(again.observations).toMatchObject([{ revision: second, state: 'partial' }]);
    expect(again.lastCondition()).toMatchObject({ reason: 'HistoryRewritten', refusedRevision: rewritten });
    await source?.stop();
    const elsewhere = follow('source-2', second);
    await until(() => elsewhere.lastCondition()?.state === 'refused');
    expect(elsewhere.observations).toEqual([]);
    expect(source?.accept(rewritten)).toBe(true);
    expect([...elsewhere.files.keys()]).toEqual(['c.yaml']);
  },
);

test.each(['native', 'isomorphic'] as const)(
  'status goes to its branch; two writers of one fleet end with one set; a restart repeats no commit (%s)',
  async (name) => {
    adapter = name;
    const one = statusSink('status-1');
    expect(await one.readAll()).toEqual({ ok: true, files: new Map() });
    one.update(new Map([['clusters/east.json', '{}\n']]), 'first');
    await one.flush();
    const two = statusSink('status-2');
    expect(await two.readAll()).toEqual({ ok: true, files: new Map([['clusters/east.json', '{}\n']]) });
    const wanted = new Map([
      ['clusters/east.json', '{"a":1}\n'],
      ['revisions/main.json', 'x'.repeat(100_000)],
    ]);
    one.update(wanted, 'second');
    two.update(wanted, 'second');
    await Promise.all([one.flush(), two.flush()]);
    const tip = box.git(bare, 'rev-parse', 'status');
    for (const sink of [one, two]) expect(sink.condition()).toMatchObject({ state: 'synced', commit: tip });
    expect(box.git(bare, 'log', '--format=%s', 'status')).toBe('second\nfirst');
    const three = statusSink('status-3');
    three.update(wanted, 'again');
    await three.flush();
    expect(box.git(bare, 'rev-parse', 'status')).toBe(tip);
    expect(box.git(bare, 'show', 'status:fleet.json')).toBe('{"fleet":"prod"}');
  },
);
