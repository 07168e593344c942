import { describe, expect, test } from 'vitest';
import { displayDiagnostic } from '../../../../src/model/fleet/diagnostic.ts';
import { parseSourceName } from '../../../../src/model/fleet/ids.ts';
import { must } from '../../../../src/model/values/result.ts';
import { createGitSource, type GitSourceOptions } from '../../../../src/sources/git/git-source.ts';
import { createFakeGitRemote, type FakeGitRemote } from '../../../support/git-fake-repo.ts';
import { createKeptLog } from '../../../support/git-quiet-log.ts';
import { createSourceRecorder, createTestDecoder } from '../../../support/source-recorder.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

interface SetUp {
  readonly remote?: FakeGitRemote;
  readonly repo?: ReturnType<FakeGitRemote['repo']>;
  readonly admitted?: string;
  readonly options?: Partial<GitSourceOptions>;
}

async function follow({ remote = createFakeGitRemote(), repo, admitted, options = {} }: SetUp = {}) {
  const clock = createVirtualClock();
  const { decode, decoded } = createTestDecoder();
  const source = createGitSource(
    {
      repo: repo ?? remote.repo('main'),
      decode,
      clock,
      random: { next: () => 0.5, id: () => 'id' },
      log: createKeptLog(),
    },
    { name: must(parseSourceName('fleet')), pollIntervalSeconds: 60, ...options },
  );
  const told = createSourceRecorder();
  source.start(told, admitted, []);
  await clock.settle();
  const look = async (): Promise<void> => {
    source.trigger();
    await clock.settle();
  };
  return { clock, remote, source, told, decoded, look };
}

describe('a prefetched tip', () => {
  async function brought() {
    const remote = createFakeGitRemote();
    const first = remote.push({ 'a.yaml': 'a' });
    const repo = remote.repo('main');
    let fetches = 0;
    const counted: typeof repo = {
      ...repo,
      fetch: (signal) => {
        fetches += 1;
        return repo.fetch(signal);
      },
    };
    const clock = createVirtualClock();
    const source = createGitSource(
      {
        ...{ repo: counted, decode: createTestDecoder().decode, clock, log: createKeptLog() },
        random: { next: () => 0.5, id: () => 'id' },
      },
      { name: must(parseSourceName('fleet')), pollIntervalSeconds: 60 },
    );
    source.prefetch?.();
    await clock.settle();
    return { first, remote, source, clock, told: createSourceRecorder(), fetches: () => fetches };
  }

  test('serves the first look and no later one', async () => {
    const { first, remote, source, clock, told, fetches } = await brought();
    source.start(told, undefined, []);
    await clock.settle();
    expect(told.observations).toMatchObject([{ revision: first }]);
    expect(fetches()).toBe(1);
    const second = remote.push({ 'a.yaml': 'b' });
    await clock.advance(60_000);
    expect(told.observations).toMatchObject([{ revision: first }, { revision: second }]);
    expect(fetches()).toBe(2);
  });

  test('is discarded when a hook fires before the start', async () => {
    const { remote, source, clock, told, fetches } = await brought();
    const second = remote.push({ 'a.yaml': 'b' });
    source.trigger();
    await clock.settle();
    expect(fetches()).toBe(1);
    source.start(told, undefined, []);
    await clock.settle();
    expect(told.observations).toMatchObject([{ revision: second }]);
    expect(fetches()).toBe(2);
  });

  test('does not serve a look that is requested after the start', async () => {
    const { remote, source, clock, told, fetches } = await brought();
    const second = remote.push({ 'a.yaml': 'b' });
    source.start(told, undefined, []);
    await source.look?.();
    expect(told.observations.at(-1)).toMatchObject({ revision: second });
    expect(fetches()).toBe(2);
    await source.stop();
    await clock.settle();
  });
});

describe('following', () => {
  test('the first observation carries every manifest, later ones what changed', async () => {
    const remote = createFakeGitRemote();
    const first = remote.push({ 'a.yaml': 'a', 'b.yml': 'b', 'c.json': 'c', 'README.md': 'r', 'charts/x.tpl': 't' });
    const { told, decoded, look } = await follow({ remote });
    expect(told.observations).toMatchObject([
      { revision: first, state: 'complete', description: { subject: 'Change' } },
    ]);
    expect([...told.files.keys()].sort()).toEqual(['a.yaml', 'b.yml', 'c.json']);
    expect(told.conditions).toMatchObject([{ state: 'synced', reason: 'Synced', revision: first }]);
    decoded.length = 0;
    remote.push({ 'a.yaml': 'a2', 'b.yml': null, 'README.md': 'r2' });
    await look();
    expect(decoded).toEqual(['a.yaml']);
    expect(told.observations[1]?.changes.map(({ path, file }) => [path, file?.readable])).toEqual([
      ['a.yaml', true],
      ['b.yml', undefined],
    ]);
    expect(remote.reads.filter((path) => path === 'c.json')).toHaveLength(1);
  });

  test('a revision without a manifest change is observed too', async () => {
    const remote = createFakeGitRemote();
    remote.push({ 'a.yaml': 'a' });
    const { told, look } = await follow({ remote });
    const second = remote.push({ 'README.md': 'r' });
    await look();
    expect(told.observations[1]).toMatchObject({ revision: second, changes: [] });
  });

  test('only the sub-folder counts, and its paths are relative to it', async () => {
    const remote = createFakeGitRemote();
    remote.push({ 'prod/a.yaml': 'a', 'dev/b.yaml': 'bad', 'prod2/c.yaml': 'c' });
    const { told } = await follow({ remote, options: { path: './prod/' } });
    expect([...told.files]).toEqual([['a.yaml', 'complete']]);
  });

  test('the ignore file excludes files, and a change of it applies to all files', async () => {
    const remote = createFakeGitRemote();
    remote.push({
      '.fleetrelayignore': '.ci/\n*.bad.yaml\n!keep.bad.yaml\n',
      '.ci/a.yaml': 'bad',
      'x.bad.yaml': 'bad',
      'keep.bad.yaml': 'k',
      'a.yaml': 'a',
    });
    const { told, look } = await follow({ remote });
    expect([...told.files]).toEqual([
      ['a.yaml', 'complete'],
      ['keep.bad.yaml', 'complete'],
    ]);
    remote.push({ '.fleetrelayignore': 'a.yaml\n.ci/\n' });
    await look();
    expect(told.observations[1]?.state).toBe('partial');
    expect(Object.fromEntries(told.files)).toEqual({ 'keep.bad.yaml': 'complete', 'x.bad.yaml': 'unreadable' });
    remote.push({ '.fleetrelayignore': null, '.ci/a.yaml': null, 'x.bad.yaml': null });
    await look();
    expect(Object.fromEntries(told.files)).toEqual({ 'keep.bad.yaml': 'complete', 'a.yaml': 'complete' });
  });

  test('a decoded file is not decoded again: after other ignore rules, and while a revision is refused', async () => {
    const remote = createFakeGitRemote();
    remote.push({ 'a.yaml': 'a', 'b.yaml': 'b' });
    const { decoded, look, source } = await follow({ remote });
    remote.push({ '.fleetrelayignore': 'b.yaml\n' });
    await look();
    remote.push({ 'c.yaml': 'c', 'a.yaml': 'a2' }, { orphan: true });
    await look();
    const tip = remote.push({ 'd.yaml': 'd' });
    await look();
    expect(source.accept(tip)).toBe(true);
    expect(decoded).toEqual(['a.yaml', 'b.yaml', 'a.yaml', 'c.yaml', 'd.yaml']);
  });

  test('polls at its interval, jittered', async () => {
    const { remote, clock } = await follow();
    remote.push({ 'a.yaml': 'a' });
    await clock.advance(1_500);
    const fetches = remote.fetches;
    await clock.advance(59_999);
    expect(remote.fetches).toBe(fetches);
    await clock.advance(1);
    expect(remote.fetches).toBe(fetches + 1);
  });

  test('triggers during a look cause exactly one more', async () => {
    const remote = createFakeGitRemote();
    remote.push({ 'a.yaml': 'a' });
    const { source, clock } = await follow({ remote });
    const fetches = remote.fetches;
    for (let index = 0; index < 10; index += 1) source.trigger();
    await clock.settle();
    expect(remote.fetches).toBe(fetches + 2);
  });

  test('stops without leaving a timer', async () => {
    const { source, clock, remote, told } = await follow();
    await source.stop();
    remote.push({ 'a.yaml': 'a' });
    source.trigger();
    await clock.advance(600_000);
    expect(clock.waiting()).toBe(0);
    expect(told.observations).toEqual([]);
  });
});

describe('partial', () => {
  test('an unreadable file makes the revision partial, with its location, until it is corrected', async () => {
    const remote = createFakeGitRemote();
    remote.push({ 'a.yaml': 'a', 'b.yaml': 'so bad' });
    const { told, look } = await follow({ remote });
    expect(told.observations[0]?.state).toBe('partial');
    expect(told.observations[0]?.diagnostics.map(displayDiagnostic)).toEqual(['b.yaml:1:4: error: it is bad']);
    expect(told.lastCondition()).toMatchObject({ state: 'synced', reason: 'Partial' });
    remote.push({ 'a.yaml': 'a2' });
    await look();
    expect(told.observations[1]).toMatchObject({ state: 'partial', diagnostics: [{ at: { path: 'b.yaml' } }] });
    remote.push({ 'b.yaml': 'good' });
    await look();
    expect(told.observations[2]).toMatchObject({ state: 'complete', diagnostics: [] });
    expect(told.lastCondition()).toMatchObject({ reason: 'Synced' });
  });

  test('links, submodules and huge files are reported', async () => {
    const remote = createFakeGitRemote();
    remote.push({
      'l.yaml': 'link:/etc/passwd',
      dir: 'link:..',
      sub: 'submodule:x',
      'big.yaml': 'x'.repeat(101),
      'a.yaml': 'a',
    });
    const { told } = await follow({ remote, options: { maxFileBytes: 100 } });
    expect(Object.fromEntries(told.files)).toEqual({
      'l.yaml': 'unreadable',
      'big.yaml': 'unreadable',
      'a.yaml': 'complete',
    });
    expect(told.observations[0]?.diagnostics.map(({ reason, severity }) => [reason, severity])).toEqual([
      ['FileTooLarge', 'error'],
      ['SymbolicLinkIgnored', 'warning'],
      ['SymbolicLink', 'error'],
      ['SubmoduleIgnored', 'warning'],
    ]);
    expect(remote.reads).not.toContain('big.yaml');
  });

  test('a file that becomes a link with the same blob is read again', async () => {
    const remote = createFakeGitRemote();
    remote.push({ 'a.yaml': 'link:x', 'b.yaml': 'b' });
    const { told, look } = await follow({ remote });
    remote.push({ 'a.yaml': 'plain' });
    await look();
    expect(told.files.get('a.yaml')).toBe('complete');
  });

  test('an ignore file that cannot be read is an unreadable file', async () => {
    const remote = createFakeGitRemote();
    remote.push({ '.fleetrelayignore': 'link:x', 'a.yaml': 'a' });
    const { told } = await follow({ remote });
    expect(told.observations[0]).toMatchObject({
      state: 'partial',
      diagnostics: [{ at: { path: '.fleetrelayignore' } }],
    });
  });

  test('a manifest whose path is too long for a file system is unreadable, and no rule is asked about it', async () => {
    const remote = createFakeGitRemote();
    const name = `${'a'.repeat(251)}.yaml`;
    const path = `${'b/'.repeat(2_046)}c.yaml`;
    const fits = `${'b/'.repeat(2_045)}c.yaml`;
    const bytes = `${'é'.repeat(126)}.yaml`;
    remote.push({
      '.fleetrelayignore': 'a*\nb/\n!b/\n',
      [name]: 'a',
      [path]: 'a',
      [fits]: 'a',
      [bytes]: 'a',
      'c.yaml': 'c',
    });
    const deeper = 'b/'.repeat(2_050);
    remote.push({ [`${deeper}README.md`]: 'no manifest', [`${deeper}link`]: 'link:x', link: 'link:x' });
    const { told } = await follow({ remote });
    expect(Object.fromEntries(told.files)).toEqual({
      ...{ [name]: 'unreadable', [path]: 'unreadable', [bytes]: 'unreadable' },
      ...{ [fits]: 'complete', 'c.yaml': 'complete' },
    });
    expect(told.observations[0]?.state).toBe('partial');
    const [longName, longPath] = [
      / has a name of more than 255 bytes in its path$/,
      / has a path of more than 4096 bytes$/,
    ];
    expect(told.observations[0]?.diagnostics).toMatchObject([
      { at: { path: `${name.slice(0, 200)}...` }, reason: 'PathTooLong', message: expect.stringMatching(longName) },
      { at: { path: `${path.slice(0, 200)}...` }, reason: 'PathTooLong', message: expect.stringMatching(longPath) },
      { at: { path: 'link' }, reason: 'SymbolicLinkIgnored' },
      { at: { path: bytes }, reason: 'PathTooLong', message: expect.stringMatching(longName) },
    ]);
  });

  test('a decoder that throws costs its own file only', async () => {
    const remote = createFakeGitRemote();
    remote.push({ 'a.yaml': 'a' });
    const told = createSourceRecorder();
    const clock = createVirtualClock();
    const source = createGitSource(
      {
        repo: remote.repo('main'),
        decode: () => {
          throw new Error('boom');
        },
        clock,
        random: { next: () => 0, id: () => '' },
        log: createKeptLog(),
      },
      { name: must(parseSourceName('fleet')), pollIntervalSeconds: 60 },
    );
    source.start(told, undefined, []);
    await clock.settle();
    expect(told.observations[0]).toMatchObject({ state: 'partial', diagnostics: [{ reason: 'DecoderFailed' }] });
  });
});

describe('refused', () => {
  test('a rewritten history waits, and its message holds the command that accepts it', async () => {
    const remote = createFakeGitRemote();
    const first = remote.push({ 'a.yaml': 'a' });
    const { told, look, source } = await follow({ remote });
    const rewritten = remote.push({ 'b.yaml': 'b' }, { orphan: true });
    await look();
    expect(told.lastCondition()).toMatchObject({
      state: 'refused',
      reason: 'HistoryRewritten',
      revision: first,
      refusedRevision: rewritten,
    });
    expect(told.lastCondition()?.message).toContain(`fleetrelay source accept fleet ${rewritten}`);
    expect(told.observations).toHaveLength(1);
    expect(source.accept(first)).toBe(false);
    expect(source.accept(rewritten)).toBe(true);
    expect([...told.files.keys()]).toEqual(['b.yaml']);
    expect(told.lastCondition()).toMatchObject({ state: 'synced', revision: rewritten });
    expect(source.accept(rewritten)).toBe(false);
    await look();
    expect(told.observations).toHaveLength(2);
  });

  test('the branch moved back in its own history is a rewrite', async () => {
    const remote = createFakeGitRemote();
    const first = remote.push({ 'a.yaml': 'a' });
    remote.push({ 'b.yaml': 'b' });
    const { told, look } = await follow({ remote });
    remote.setBranch('main', first);
    await look();
    expect(told.lastCondition()).toMatchObject({ state: 'refused', refusedRevision: first });
  });

  test('an empty tree waits; a later revision with manifests is admitted', async () => {
    const remote = createFakeGitRemote();
    remote.push({ 'a.yaml': 'a', README: 'r' });
    const { told, look, source } = await follow({ remote });
    const empty = remote.push({ 'a.yaml': null });
    await look();
    await look();
    expect(told.lastCondition()).toMatchObject({ state: 'refused', reason: 'EmptyTree', refusedRevision: empty });
    expect(told.conditions).toHaveLength(2);
    remote.push({ 'c.yaml': 'c' });
    await look();
    expect(told.lastCondition()).toMatchObject({ state: 'synced' });
    expect([...told.files.keys()]).toEqual(['c.yaml']);
    expect(source.accept(empty)).toBe(false);
  });

  test('an ignore file that hides everything is an empty tree', async () => {
    const remote = createFakeGitRemote();
    remote.push({ 'a.yaml': 'a' });
    const { told, look } = await follow({ remote });
    remote.push({ '.fleetrelayignore': '*\n' });
    await look();
    expect(told.lastCondition()).toMatchObject({ state: 'refused', reason: 'EmptyTree' });
  });

  test('a deleted branch waits, can return, and can be accepted', async () => {
    const remote = createFakeGitRemote();
    const first = remote.push({ 'a.yaml': 'a' });
    const { told, look, source } = await follow({ remote });
    remote.setBranch('main', null);
    await look();
    expect(told.lastCondition()).toMatchObject({
      state: 'refused',
      reason: 'BranchVanished',
      refusedRevision: 'no-branch',
    });
    remote.setBranch('main', first);
    await look();
    expect(told.lastCondition()).toMatchObject({ state: 'synced', revision: first });
    expect(told.observations).toHaveLength(1);
    remote.setBranch('main', null);
    await look();
    expect(source.accept('no-branch')).toBe(true);
    expect(told.files.size).toBe(0);
    const second = remote.push({ 'z.yaml': 'z' });
    await look();
    expect(told.lastCondition()).toMatchObject({ state: 'synced', revision: second });
  });

  test('a refused revision still waits after a failed look, and can be accepted then', async () => {
    const remote = createFakeGitRemote();
    remote.push({ 'a.yaml': 'a' });
    const { told, look, source } = await follow({ remote });
    const rewritten = remote.push({ 'b.yaml': 'b' }, { orphan: true });
    await look();
    remote.failure = { type: 'failed', reason: 'Unreachable', message: 'no route' };
    await look();
    expect(told.lastCondition()).toMatchObject({ state: 'failing', refusedRevision: rewritten });
    remote.failure = undefined;
    await look();
    expect(told.lastCondition()).toMatchObject({ state: 'refused', refusedRevision: rewritten });
    remote.failure = { type: 'failed', reason: 'Unreachable', message: 'no route' };
    await look();
    expect(source.accept(rewritten)).toBe(true);
  });
});

describe('first start and restart', () => {
  test('a branch that does not exist yet makes the source failing, and is looked for again', async () => {
    const { told, remote, clock } = await follow();
    expect(told.lastCondition()).toMatchObject({ state: 'failing', reason: 'BranchNotFound' });
    remote.push({ 'a.yaml': 'a' });
    await clock.advance(10_000);
    expect(told.lastCondition()).toMatchObject({ state: 'synced' });
  });

  test('an empty tree is admitted when no revision was admitted before', async () => {
    const remote = createFakeGitRemote();
    const empty = remote.push({ README: 'r' });
    const { told } = await follow({ remote });
    expect(told.observations).toMatchObject([{ revision: empty, state: 'complete', changes: [] }]);
  });

  test('a restart on the admitted revision carries every file', async () => {
    const remote = createFakeGitRemote();
    const first = remote.push({ 'a.yaml': 'a' });
    const { told } = await follow({ remote, admitted: first });
    expect(told.observations).toMatchObject([{ revision: first, changes: [{ path: 'a.yaml' }] }]);
    expect(told.lastCondition()).toMatchObject({ state: 'synced' });
  });

  test('a fresh copy that lacks the admitted commit is a rewritten history, and nothing is observed', async () => {
    const remote = createFakeGitRemote();
    remote.push({ 'a.yaml': 'a' });
    const { told } = await follow({ remote, admitted: 'f'.repeat(40) });
    expect(told.observations).toEqual([]);
    expect(told.lastCondition()).toMatchObject({
      state: 'refused',
      reason: 'HistoryRewritten',
      revision: 'f'.repeat(40),
    });
  });

  test('after a restart with a refused tip, the admitted revision is read from the local copy', async () => {
    const remote = createFakeGitRemote();
    const first = remote.push({ 'a.yaml': 'a' });
    const repo = remote.repo('main');
    await repo.fetch();
    const empty = remote.push({ 'a.yaml': null });
    const { told } = await follow({ remote, repo, admitted: first });
    expect(told.observations).toMatchObject([{ revision: first }]);
    expect(told.lastCondition()).toMatchObject({ state: 'refused', reason: 'EmptyTree', refusedRevision: empty });
  });

  test('after a restart with a broken remote, the admitted revision is read from the local copy', async () => {
    const remote = createFakeGitRemote();
    const first = remote.push({ 'a.yaml': 'a' });
    const repo = remote.repo('main');
    await repo.fetch();
    remote.failure = { type: 'failed', reason: 'TimedOut', message: 'slow' };
    const { told, look } = await follow({ remote, repo, admitted: first });
    expect(told.observations).toMatchObject([{ revision: first }]);
    expect(told.lastCondition()).toMatchObject({ state: 'failing', reason: 'TimedOut', revision: first });
    remote.failure = undefined;
    remote.push({ 'b.yaml': 'b' });
    await look();
    expect(told.observations[1]?.changes).toMatchObject([{ path: 'b.yaml' }]);
  });

  test('a failure is reported once, and looks back off up to a limit', async () => {
    const remote = createFakeGitRemote();
    remote.failure = { type: 'failed', reason: 'Unreachable', message: 'no route' };
    const { told, clock } = await follow({ remote, options: { maxRetrySeconds: 100 } });
    await clock.advance(3_600_000);
    expect(told.conditions).toMatchObject([{ state: 'failing', reason: 'Unreachable', message: 'no route' }]);
    // 2, 4, 8 ... 64, then 100 seconds, each three quarters of it here: about 50 looks in an hour.
    expect(remote.fetches).toBeGreaterThan(45);
    expect(remote.fetches).toBeLessThan(56);
  });
});

test('reads the bytes of a blob for finding lines', async () => {
  const remote = createFakeGitRemote();
  remote.push({ 'a.yaml': 'hello' });
  const { source, told } = await follow({ remote });
  const file = told.observations[0]?.changes[0]?.file;
  expect(Buffer.from((await source.read('a.yaml', file?.blob ?? '')) ?? []).toString()).toBe('hello');
  expect(await source.read('a.yaml', 'f'.repeat(40))).toBeUndefined();
});
