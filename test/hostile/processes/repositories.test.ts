import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serverSettings } from '../../../bench/fleet/as-shipped.ts';
import { memoryOf } from '../../../bench/process-figures.ts';
import type { SourceView } from '../../../src/api/server-api.ts';
import { type Fleet, PROGRAM, startFleet, until } from '../../support/fleet-processes.ts';
import { writeFiles } from '../../support/git-sandbox.ts';
import { hostileFiles, manifestOfBytes, manyWildcards, rawGit } from '../../support/hostile-repositories.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../../support/manifests.ts';

/** Repositories that are made to harm who reads them, given to a real server and to `fleetrelay validate`. */

const MOST_MIB = 500;
const MOST_SILENCE_MS = 500;
const MOST_SECONDS = 10;
const TICK_MS = 10;

/** Processor time that the thread of the event loop has used, in milliseconds. */
function loopMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/task/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return TICK_MS * (Number(fields[11]) + Number(fields[12]));
}

/** Processor time of all threads of a process and of the children that it has waited for, in milliseconds. */
function processMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return TICK_MS * [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0);
}

/**
 * Asks for the health of a server all the time. `longestMs`: the longest time that its event loop was busy with other work
 * before it answered. The time that the machine gave to other processes is not the server's.
 */
function watchHealth(fleet: Fleet) {
  let longestMs = 0;
  let answers = 0;
  let isOver = false;
  const pid = fleet.server.pid() ?? expect.fail('the server runs');
  const watching = (async () => {
    while (!isOver) {
      const before = loopMs(pid);
      const begin = performance.now();
      // A server closes a connection that was idle for a while; on a busy machine that can be this one.
      const isOk = await fetch(`${fleet.server.metrics()}/healthz`).then(
        async (response) => {
          await response.text();
          return response.ok;
        },
        () => false,
      );
      const busy = Math.min(performance.now() - begin, loopMs(pid) - before);
      if (isOk) answers += 1;
      longestMs = Math.max(longestMs, busy);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  })();
  return async () => {
    isOver = true;
    await watching;
    return { longestMs, answers };
  };
}

/** 1,000 ignore rules, and 600 files at long paths. */
const muchMatching: Readonly<Record<string, string>> = {
  '.fleetrelayignore': Array.from({ length: 1_000 }, (_, at) => `**/*a*a*b${at + 1}`).join('\n'),
  ...Object.fromEntries(Array.from({ length: 600 }, (_, at) => [`${'aaaaaaaaaaaa/'.repeat(18)}f${at}.yaml`, ''])),
};

describe('a server with a hostile repository beside a good one', () => {
  let fleet: Fleet;
  let counter = 0;

  beforeAll(async () => {
    const good = {
      'clusters/east/cluster.yaml': clusterYaml('east'),
      'fleet/placement.yaml': placementYaml('apps', 'apps/**'),
      'apps/a.yaml': configMapYaml('a', 'one'),
    };
    const sources = { bad: { 'b.yaml': configMapYaml('b', 'one') } };
    fleet = await startFleet(good, { sources, serverEnv: serverSettings() });
    await fleet.agent('east').start();
    await until('east holds a', async () => (await fleet.live('east', 'ConfigMap/web/a'))?.includes('one'));
  });
  afterAll(async () => fleet?.stop());

  const bad = () => join(fleet.sandbox.served, 'bad.git');
  const source = async () => (await fleet.status()).sources.find(({ name }) => name === 'bad');

  /** Gives the repository to the server; resolves with the source when it has judged it. */
  async function judged(write: () => string, isJudged: (found: SourceView, commit: string) => boolean) {
    const pid = fleet.server.pid() ?? expect.fail('the server runs');
    const endWatch = watchHealth(fleet);
    const commit = write();
    fleet.tell();
    const begin = processMs(pid);
    const found = await until('the source has judged the revision', async () => {
      const now = await source();
      return now !== undefined && isJudged(now, commit) ? now : undefined;
    });
    const seconds = (processMs(pid) - begin) / 1_000;
    counter += 1;
    fleet.push({ 'apps/a.yaml': configMapYaml('a', `push-${counter}`) });
    await until('east has the next push', async () =>
      (await fleet.live('east', 'ConfigMap/web/a'))?.includes(`push-${counter}`),
    );
    const { longestMs, answers } = await endWatch();
    const { peakMiB } = memoryOf(pid);
    expect(answers).toBeGreaterThan(0);
    expect({ seconds, longestMs, peakMiB }).toMatchObject({
      seconds: expect.toSatisfy((took: number) => took <= MOST_SECONDS),
      longestMs: expect.toSatisfy((took: number) => took <= MOST_SILENCE_MS),
      peakMiB: expect.toSatisfy((peak: number) => peak <= MOST_MIB),
    });
    return found;
  }
  const entered = ({ revision }: SourceView, commit: string): boolean => revision === commit;
  const refused = ({ refusedRevision }: SourceView, commit: string): boolean => refusedRevision === commit;

  it.each(Object.entries(hostileFiles))('%s is unreadable', async (_, { path, text }) => {
    const git = rawGit(fleet.sandbox, bad());
    const found = await judged(() => git.commit(git.files({ [path]: text() })), entered);
    expect(found.message).toContain('1 of 1 manifests cannot be read');
  });

  it('globs with many wildcards are matched in time', async () => {
    await judged(() => fleet.push({ ...manyWildcards }, 'bad'), entered);
  });

  it('lines of findings in a large file are found beside the event loop, once for all of them', async () => {
    const documents = Array.from({ length: 9_000 }, (_, index) => configMapYaml(`n${index}`, 'one')).join('---\n');
    await judged(() => fleet.push({ 'b.yaml': documents }, 'bad'), entered);
    // The second has too many values for its lines to be looked for, and fewer than the relay carries in one object.
    for (const [bytes, hasLine] of [
      [900_000, true],
      [3_000_000, false],
    ] as const) {
      const path = `c${bytes}.yaml`;
      const large = `${manifestOfBytes(bytes)}---\n${clusterYaml('another')}`;
      await judged(() => fleet.push({ 'b.yaml': null, [path]: large }, 'bad'), entered);
      const { at } = await until('the finding is shown', async () =>
        (await fleet.status()).diagnostics.find((found) => found.reason === 'NotAllowed' && found.at?.path === path),
      );
      const line = large.split('\n').indexOf('---') + 3;
      expect(at).toEqual(hasLine ? expect.objectContaining({ path, line }) : { path });
      await judged(() => fleet.push({ [path]: null, 'b.yaml': configMapYaml('b', 'one') }, 'bad'), entered);
    }
  });

  it('one small blob under 10,000 paths is read once', async () => {
    const git = rawGit(fleet.sandbox, bad());
    await judged(() => git.commit(git.repeated(manifestOfBytes(1_000), 100, 100)), entered);
  });

  it('one large blob under 10,000 paths is above a limit, and no command lifts it', async () => {
    const git = rawGit(fleet.sandbox, bad());
    const found = await judged(() => git.commit(git.repeated(manifestOfBytes(30_000), 100, 100)), refused);
    expect(found).toMatchObject({ reason: 'TooLarge', message: expect.stringMatching(/limits\.revision\.bytes/) });
    const accepting = fleet.cli('source', 'accept', 'bad', found.refusedRevision ?? '');
    await expect(accepting).rejects.toThrow(/a revision above a limit cannot be accepted/);
  });

  it('trees within trees that stand for billions of paths are above a limit', async () => {
    const git = rawGit(fleet.sandbox, bad());
    const found = await judged(() => git.commit(git.nested(12)), refused);
    expect(found).toMatchObject({ reason: 'TooLarge', message: expect.stringMatching(/limits\.revision\.entries/) });
  });

  it('paths and ignore rules that need too much matching are above a limit, which names the path and the rule', async () => {
    const git = rawGit(fleet.sandbox, bad());
    const found = await judged(() => {
      // The push adds to the tree of the branch, which is above another limit after the tests before.
      git.commit(git.files({ 'b.yaml': configMapYaml('b', 'one') }));
      return fleet.push(muchMatching, 'bad');
    }, refused);
    expect(found).toMatchObject({
      reason: 'TooLarge',
      message: expect.stringMatching(
        /limits\.revision\.matchingSteps.*the rule "\*\*\/\*a\*a\*b\d+" \(\.fleetrelayignore:\d+\)/,
      ),
    });
    const removed = Object.fromEntries(Object.keys(muchMatching).map((path) => [path, null]));
    await judged(() => fleet.push(removed, 'bad'), entered);
  });

  it('a branch that is not merged is read for its plan beside the server, which answers meanwhile', async () => {
    fleet.sandbox.git(fleet.bare, 'branch', 'much', 'main');
    fleet.sandbox.push(fleet.bare, muchMatching, { branch: 'much' });
    const order: string[] = [];
    const plan = fleet.cli('plan', 'much', '--source', 'fleet').then(
      () => expect.fail('the branch is above a limit'),
      (error: unknown) => {
        order.push('plan');
        return String(error);
      },
    );
    for (let answers = 0; answers < 5; answers += 1) {
      const response = await fetch(`${fleet.server.metrics()}/healthz`);
      expect(response.ok).toBe(true);
      await response.text();
      order.push('health');
    }
    expect(await plan).toMatch(/TooLarge: much has at least \d+ steps of matching paths; .*\.fleetrelayignore:\d+/);
    expect(order).toEqual([...Array.from({ length: 5 }, () => 'health'), 'plan']);
  });

  it('absurd names, dates and messages of a commit are cut and printable', async () => {
    const git = rawGit(fleet.sandbox, bad());
    const tree = git.files({ 'b.yaml': configMapYaml('b', 'two') });
    const author = `\u001b]0;owned\u0007\u202e${'x'.repeat(100_000)}`;
    const message = `\u001b[2J${'m'.repeat(2_000_000)}`;
    await judged(() => git.commit(tree, { author, message, seconds: 9_000_000_000_000 }), entered);
    const text = JSON.stringify(await fleet.status());
    expect(text).not.toMatch(/\\u001b|\u202e|x{301}|m{301}/);
  });
});

describe('fleetrelay validate', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-hostile-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Runs the command to its end; the peak of its memory is read until then. */
  async function validate(): Promise<{
    code: number | null;
    findings: readonly string[];
    peakMiB: number;
    seconds: number;
  }> {
    const child: ChildProcess = spawn(process.execPath, [PROGRAM, 'validate', '.', '-o', 'json'], { cwd: folder });
    let out = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    let peakMiB = 0;
    let seconds = 0;
    const timer = setInterval(() => {
      try {
        peakMiB = Math.max(peakMiB, memoryOf(child.pid ?? 0).peakMiB || 0);
        seconds = processMs(child.pid ?? 0) / 1_000;
      } catch {
        // It has ended.
      }
    }, 20);
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    clearInterval(timer);
    const { findings = [], diagnostics = findings } = JSON.parse(out);
    const texts = diagnostics.map(
      ({
        severity,
        message,
        at,
      }: {
        severity: string;
        message: string;
        at: { path: string; line?: number; column?: number };
      }) => `${[at.path, at.line, at.column].filter((part) => part !== undefined).join(':')}: ${severity}: ${message}`,
    );
    return { code, findings: texts, peakMiB, seconds };
  }
  async function refusalOf(files: Readonly<Record<string, string>>) {
    rmSync(folder, { recursive: true, force: true });
    writeFiles(folder, { '.keep': '', ...files });
    const { code, findings, peakMiB, seconds } = await validate();
    expect(peakMiB).toBeLessThanOrEqual(MOST_MIB);
    expect(seconds).toBeLessThanOrEqual(MOST_SECONDS);
    expect(code).toBe(1);
    return findings.join('\n');
  }

  it.each(Object.entries(hostileFiles))('refuses %s', async (_, { path, text, refusal }) => {
    expect(await refusalOf({ [path]: text() })).toMatch(new RegExp(refusal.source, 'm'));
  });

  it('refuses one large blob under 10,000 paths', async () => {
    const text = manifestOfBytes(30_000);
    const files = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`f${at % 100}/g${at}.yaml`, text]));
    expect(await refusalOf(files)).toMatch(
      /^f\d+\/g\d+\.yaml:1:1: error: with this file, the folder has at least \d+ bytes/m,
    );
  });

  it('refuses folders within folders', async () => {
    expect(await refusalOf({ [`${'a/'.repeat(101)}b.yaml`]: configMapYaml('b', 'one') })).toMatch(
      /^a\/.*:1:1: error: with this file, the folder has at least 101 levels of folders; at most 100 are read/m,
    );
  });
});
