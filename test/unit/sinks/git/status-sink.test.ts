import { describe, expect, test } from 'vitest';
import { parseFleetName } from '../../../../src/model/fleet/ids.ts';
import { must } from '../../../../src/model/values/result.ts';
import { createGitStatusSink } from '../../../../src/sinks/git/status-sink.ts';
import { createFakeGitRemote, type FakeGitRemote } from '../../../support/git-fake-repo.ts';
import { createKeptLog } from '../../../support/git-quiet-log.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

const branch = 'status';
const fleetFile = '{"fleet":"prod"}\n';

function setUp(remote: FakeGitRemote = createFakeGitRemote(), fleet = 'prod') {
  const clock = createVirtualClock();
  const sink = createGitStatusSink(
    { repo: remote.repo(branch), clock, random: { next: () => 0.5, id: () => 'id' }, log: createKeptLog() },
    {
      fleet: must(parseFleetName(fleet)),
      author: { name: 'fleetrelay', email: 'fleetrelay@example.com' },
      minIntervalSeconds: 10,
    },
  );
  const update = (files: Readonly<Record<string, string | null>>, summary = 'Status'): void =>
    sink.update(new Map(Object.entries(files)), summary);
  const held = (): Readonly<Record<string, string>> => remote.files(remote.tip(branch) ?? '');
  return { clock, sink, remote, update, held };
}

describe('publishing', () => {
  test('the first commit is a root commit that names the fleet, with the summary in one line', async () => {
    const { sink, remote, held } = setUp();
    sink.update(new Map([['clusters/east.json', 'e']]), 'two\nlines');
    await sink.flush();
    expect(held()).toEqual({ 'fleet.json': fleetFile, 'clusters/east.json': 'e' });
    expect(remote.history(branch)).toHaveLength(1);
    expect(remote.message(remote.tip(branch) ?? '')).toBe('two lines\n\nFleetrelay-Fleet: prod\n');
    expect(sink.condition()).toMatchObject({ state: 'synced', commit: remote.tip(branch) });
  });

  test('updates are collected, and commits keep the minimum interval', async () => {
    const { sink, clock, remote, update, held } = setUp();
    update({ 'a/1': '1' });
    await clock.advance(100);
    update({ 'a/2': '2' });
    await clock.advance(149);
    expect(remote.publishes).toBe(0);
    await clock.advance(1);
    expect(held()).toEqual({ 'fleet.json': fleetFile, 'a/1': '1', 'a/2': '2' });
    update({ 'a/1': null });
    update({ 'a/2': '3' });
    await clock.advance(9_999);
    expect(remote.history(branch)).toHaveLength(1);
    await clock.advance(1);
    expect(held()).toEqual({ 'fleet.json': fleetFile, 'a/2': '3' });
    expect(remote.history(branch)).toHaveLength(2);
    await sink.stop();
    expect(clock.waiting()).toBe(0);
  });

  test('a change during a push waits for the minimum interval after that commit', async () => {
    const { sink, clock, remote, update } = setUp();
    update({ 'a/1': '1' });
    remote.nextPublish.push(() => update({ 'a/1': '2' }));
    await sink.flush();
    await clock.advance(9_999);
    expect(remote.history(branch)).toHaveLength(1);
    await clock.advance(1);
    expect(remote.history(branch)).toHaveLength(2);
  });

  test('a change that is reverted before the commit makes no commit', async () => {
    const { sink, clock, remote, update } = setUp();
    update({ 'a/1': '1' });
    await sink.flush();
    update({ 'a/1': '2' });
    update({ 'a/1': '1' });
    await clock.advance(60_000);
    expect(remote.publishes).toBe(1);
  });

  test('a restart repeats no commit, and removes files outside of the complete set', async () => {
    const { remote, sink, update } = setUp();
    update({ 'a/1': '1', 'a/2': '2' });
    await sink.flush();
    const again = setUp(remote);
    expect(await again.sink.readAll()).toEqual({
      ok: true,
      files: new Map([
        ['a/1', '1'],
        ['a/2', '2'],
      ]),
    });
    again.update({ 'a/1': '1', 'a/2': '2' });
    await again.sink.flush();
    expect(remote.history(branch)).toHaveLength(1);
    expect(again.sink.condition()).toMatchObject({ state: 'synced', commit: remote.tip(branch) });
    const third = setUp(remote);
    third.update({ 'a/2': '2' });
    await third.sink.flush();
    expect(third.held()).toEqual({ 'fleet.json': fleetFile, 'a/2': '2' });
  });

  test('after a lost race the commit is rebuilt on the new tip; files of people at the root stay', async () => {
    const { remote, sink, clock, update, held } = setUp();
    update({ 'a/1': '1' });
    await sink.flush();
    remote.push({ 'README.md': 'hello', '.ci/run': 'x', 'a/1': 'vandal', 'a/9': 'extra' }, { branch });
    update({ 'a/2': '2' });
    await clock.advance(60_000);
    expect(held()).toEqual({ 'fleet.json': fleetFile, 'README.md': 'hello', '.ci/run': 'x', 'a/1': '1', 'a/2': '2' });
    expect(remote.history(branch)).toHaveLength(3);
    expect(remote.publishes).toBe(3);
  });

  test('a follower publishes nothing; a new leader fetches the branch first', async () => {
    const { remote, sink, clock, update, held } = setUp();
    update({ 'a/1': '1' });
    await sink.flush();
    sink.lead(false);
    update({ 'a/1': '2' });
    await clock.advance(60_000);
    expect(remote.publishes).toBe(1);
    remote.push({ 'a/1': 'of another', 'a/2': 'of another' }, { branch });
    sink.lead(true);
    await clock.advance(60_000);
    expect(held()).toEqual({ 'fleet.json': fleetFile, 'a/1': '2' });
  });

  test('a process that does not lead any more does not repeat a push that has lost a race', async () => {
    const { remote, sink, clock, update, held } = setUp();
    update({ 'a/1': '1' });
    await sink.flush();
    remote.nextPublish.push(() => {
      remote.push({ 'a/1': 'of the next leader' }, { branch });
      sink.lead(false);
    });
    update({ 'a/1': '2' });
    await clock.advance(60_000);
    expect(remote.publishes).toBe(2);
    expect(held()).toMatchObject({ 'a/1': 'of the next leader' });
  });

  test('a deleted branch is created again', async () => {
    const { remote, sink, clock, update, held } = setUp();
    update({ 'a/1': '1' });
    await sink.flush();
    remote.setBranch(branch, null);
    update({ 'a/2': '2' });
    await clock.advance(60_000);
    expect(held()).toEqual({ 'fleet.json': fleetFile, 'a/1': '1', 'a/2': '2' });
    expect(remote.history(branch)).toHaveLength(1);
  });

  test('repeated lost races become a condition, and publishing continues later', async () => {
    const { remote, sink, clock, update, held } = setUp();
    let moved = 0;
    const move = (): void => {
      moved += 1;
      remote.push({ 'README.md': `${moved}` }, { branch });
    };
    remote.nextPublish.push(move, move, move, move, move, move);
    update({ 'a/1': '1' });
    await clock.advance(8_000);
    expect(sink.condition()).toMatchObject({ state: 'failing', reason: 'Race' });
    expect(remote.publishes).toBe(6);
    await clock.advance(60_000);
    expect(sink.condition()).toMatchObject({ state: 'synced' });
    expect(held()).toEqual({ 'fleet.json': fleetFile, 'README.md': '6', 'a/1': '1' });
  });

  test('a path outside the managed ones is refused', () => {
    const { update } = setUp();
    for (const path of ['fleet.json', '.github/x', 'README.md']) expect(() => update({ [path]: 'x' })).toThrow(path);
  });
});

describe('problem', () => {
  test("another fleet's branch is never written", async () => {
    const first = setUp();
    first.update({ 'a/1': '1' });
    await first.sink.flush();
    const other = setUp(first.remote, 'staging');
    expect(await other.sink.readAll()).toMatchObject({ ok: false, reason: 'OtherFleet' });
    other.update({ 'a/1': '2' });
    await other.clock.advance(3_600_000);
    expect(other.sink.condition()).toMatchObject({ state: 'refused', reason: 'OtherFleet' });
    expect(other.sink.condition().message).toContain('"prod"');
    expect(first.remote.publishes).toBe(1);
  });

  test('a branch with content and no fleet is never written', async () => {
    const { remote, sink, clock, update } = setUp();
    remote.push({ 'clusters/east/web.yaml': 'a: 1' }, { branch });
    update({ 'a/1': '1' });
    await clock.advance(3_600_000);
    expect(sink.condition()).toMatchObject({ state: 'refused', reason: 'NotAStatusBranch' });
    expect(remote.publishes).toBe(0);
  });

  test('the message of a server that refuses is in the condition; attempts back off', async () => {
    const { remote, sink, clock, update } = setUp();
    for (let index = 0; index < 100; index += 1) remote.nextPublish.push({ type: 'refused', message: 'no bots here' });
    update({ 'a/1': '1' });
    await clock.advance(3_600_000);
    expect(sink.condition()).toMatchObject({ state: 'refused', reason: 'PushRefused' });
    expect(sink.condition().message).toContain('no bots here');
    expect(remote.publishes).toBeGreaterThan(10);
    expect(remote.publishes).toBeLessThan(40);
  });

  test('a broken remote is a condition; after its recovery all pending changes are published', async () => {
    const { remote, sink, clock, update, held } = setUp();
    remote.failure = { type: 'failed', reason: 'Unreachable', message: 'no route' };
    expect(await sink.readAll()).toEqual({ ok: false, reason: 'Unreachable', message: 'no route' });
    update({ 'a/1': '1' });
    await clock.advance(20_000);
    expect(sink.condition()).toMatchObject({ state: 'failing', reason: 'Unreachable', message: 'no route' });
    update({ 'a/2': '2' });
    remote.failure = undefined;
    await clock.advance(300_000);
    expect(sink.condition()).toMatchObject({ state: 'synced' });
    expect(held()).toEqual({ 'fleet.json': fleetFile, 'a/1': '1', 'a/2': '2' });
  });

  test('a push whose answer was lost is recognised and not repeated', async () => {
    const { remote, sink, clock, update } = setUp();
    update({ 'a/1': '1' });
    await sink.flush();
    remote.nextPublish.push(() => {
      remote.push({ 'a/2': '2' }, { branch });
    });
    update({ 'a/2': '2' });
    await clock.advance(60_000);
    expect(remote.history(branch)).toHaveLength(2);
    expect(sink.condition()).toMatchObject({ state: 'synced', commit: remote.tip(branch) });
  });
});
