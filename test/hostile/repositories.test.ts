import { afterAll, describe, expect, it } from 'vitest';
import { createTreeMeter } from '../../src/adapters/git/measure-tree.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { openSourceDecoder } from '../../src/compose/decoding/source-decoder.ts';
import { displayDiagnostic } from '../../src/model/fleet/diagnostic.ts';
import { parseSourceName } from '../../src/model/fleet/ids.ts';
import { defaultRevisionLimits, type RevisionLimits } from '../../src/model/limits/revision-limits.ts';
import { must } from '../../src/model/values/result.ts';
import type { TreeChange } from '../../src/ports/git-repo.ts';
import { createGitSource } from '../../src/sources/git/git-source.ts';
import { DecodingEnded } from '../../src/sources/tree/tree-file.ts';
import { emptyTree, readTree, type Tree } from '../../src/sources/tree/tree-reader.ts';
import { decodeFile } from '../support/decode-file.ts';
import { bytesOf } from '../support/decoding.ts';
import { createFakeGitRemote } from '../support/git-fake-repo.ts';
import { createKeptLog } from '../support/git-quiet-log.ts';
import { hostileFiles, manifestOfBytes } from '../support/hostile-repositories.ts';
import { createSourceRecorder } from '../support/source-recorder.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const limited = (changed: Partial<RevisionLimits>): RevisionLimits => ({ ...defaultRevisionLimits, ...changed });
const object = (name: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\n`;

type Files = Readonly<Record<string, string | null>>;

/** Reads files on top of a tree; the blob of a file is its text. */
async function read(before: Tree, files: Files, limits: RevisionLimits) {
  const decoded: string[] = [];
  const changes = Object.entries(files).map(
    ([path, text]): TreeChange => ({
      path,
      entry: text === null ? null : { kind: 'file', blob: text, size: text.length },
    }),
  );
  const outcome = await readTree(
    {
      decode: (path, bytes, blob) => {
        decoded.push(path);
        return decodeFile(path, bytes, blob);
      },
      read: async (_path, { blob }) => ({ bytes: bytesOf(blob) }),
      maxFileBytes: 100_000,
      limits,
    },
    before,
    changes,
  );
  return { outcome, decoded };
}

describe('a hostile file', () => {
  it.each(Object.entries(hostileFiles))('%s is refused with its place', (_, { path, text, refusal }) => {
    const { reading, diagnostics } = decodeFile(path, bytesOf(text()), 'blob');
    expect(reading.readable).toBe(false);
    expect(displayDiagnostic(diagnostics[0] ?? expect.fail())).toMatch(refusal);
  });
});

describe('a revision', () => {
  it('of kustomizations that all claim one folder costs what its files and claims cost, not their product', async () => {
    // With the product, this test would not end in its time.
    const many = 20_000;
    const claims = Array.from({ length: many }, (_, at) => [
      [`k/${at}/kustomization.yaml`, 'resources: [../../shared]\n'] as const,
      [`shared/${at}.yaml`, 'a: 1\n'] as const,
    ]).flat();
    const placement =
      'apiVersion: fleetrelay.dev/v1alpha1\nkind: Placement\nmetadata: {name: web}\nspec: {paths: [shared], clusters: {names: [east]}}\n';
    const files = { ...Object.fromEntries(claims), 'placement.yaml': placement };
    const { outcome } = await read(emptyTree, files, defaultRevisionLimits);
    expect(outcome).toMatchObject({ tree: { unreadable: many } });
    const first = 'excess' in outcome ? [] : outcome.tree.diagnostics;
    expect(first[0]?.message).toMatch(/Placement web selects "shared\/0\.yaml"$/);
  });

  it('counts what kustomizations and charts claim as files', async () => {
    const files = {
      'a/Chart.yaml': 'apiVersion: v2\nname: a\nversion: 1.0.0\n',
      'a/b.yaml': 'a: 1\n',
      'a/c.json': '1',
    };
    const { outcome } = await read(emptyTree, files, limited({ files: 2 }));
    expect(outcome).toEqual({ excess: expect.objectContaining({ limit: 'files', found: 3 }) });
  });

  it('decodes content once for all its paths, and each path has the findings at its own place', async () => {
    const broken = `${object('a')}data: { a: 1 }\n`;
    const files = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`f${index}.yaml`, broken]));
    const { outcome, decoded } = await read(emptyTree, { ...files, 'f.json': broken }, defaultRevisionLimits);
    expect(decoded).toHaveLength(2);
    const { tree } = 'tree' in outcome ? outcome : expect.fail('the tree is within the limits');
    expect(tree).toMatchObject({ manifests: 51, unreadable: 51 });
    expect(tree.diagnostics.map(({ at }) => at?.path)).toEqual(expect.arrayContaining(Object.keys(files)));
    expect(tree.diagnostics.filter(({ at }) => at?.path === 'f7.yaml')).toHaveLength(1);
  });

  it.each<[keyof RevisionLimits, number, Files]>([
    ['entries', 2, { 'a.yaml': object('a'), 'b.txt': 'b', 'c.txt': 'c' }],
    ['files', 1, { 'a.yaml': object('a'), 'b.yaml': object('b') }],
    ['bytes', 150, { 'a.yaml': object('a'), 'b.yaml': object('a'), 'c.yaml': object('a') }],
    ['documents', 2, { 'a.yaml': `${object('a')}---\n${object('b')}`, 'b.yaml': object('c') }],
    ['nodes', 12, { 'a.yaml': object('a'), 'b.yaml': object('a') }],
    ['findings', 1, { 'a.yaml': 'a: [\n', 'b.yaml': 'a: [\n' }],
    ['bytes', 40, { 'x/Chart.yaml': object('a') }],
    ['nodes', 3, { 'kustomization.yaml': 'resources: [a.yaml, b.yaml]\n' }],
  ])('above the limit for %s is not read to its end, in one step or in two', async (limit, most, files) => {
    const excess = { limit, most, found: expect.any(Number) };
    expect((await read(emptyTree, files, limited({ [limit]: most }))).outcome).toMatchObject({ excess });
    const [[path, text] = expect.fail(), ...others] = Object.entries(files);
    const first = await read(emptyTree, others.length === 0 ? {} : { [path]: text }, limited({ [limit]: most }));
    const before = 'tree' in first.outcome ? first.outcome.tree : expect.fail('the first step is within the limits');
    const rest = others.length === 0 ? files : Object.fromEntries(others);
    expect((await read(before, rest, limited({ [limit]: most }))).outcome).toMatchObject({ excess });
    // What is replaced does not count.
    expect(
      (
        await read(
          before,
          { ...rest, [path]: null, ...Object.fromEntries(others.map(([name]) => [name, null])) },
          limited({ [limit]: most }),
        )
      ).outcome,
    ).toHaveProperty('tree');
  });
});

describe('a tree of a few objects that stand for millions of paths', () => {
  const ID = (level: number) => level.toString(16).padStart(40, '0');
  /** Each tree has the next one ten times. */
  const levels = (count: number) => {
    const reads: string[] = [];
    const meter = createTreeMeter(async (tree) => {
      reads.push(tree);
      const level = Number.parseInt(tree, 16);
      if (level === count) return Buffer.concat([Buffer.from('100644 a.yaml\0'), Buffer.alloc(20, 1)]);
      const inner = Buffer.from(ID(level + 1), 'hex');
      return Buffer.concat(
        Array.from({ length: 10 }, (_, at) => Buffer.concat([Buffer.from(`40000 f${at}\0`), inner])),
      );
    });
    return { meter, reads };
  };

  it('is refused after as many reads as it has objects', async () => {
    const { meter, reads } = levels(12);
    expect(await meter.measure(ID(0), defaultRevisionLimits)).toMatchObject({ limit: 'entries', most: 250_000 });
    expect(reads).toHaveLength(13);
  });

  it('is counted exactly within the limits, and an equal folder is not read again', async () => {
    const { meter, reads } = levels(3);
    // 10 + 100 + 1,000 folders and 1,000 files.
    expect(await meter.measure(ID(0), limited({ entries: 2_110 }))).toBeUndefined();
    expect(await meter.measure(ID(0), limited({ entries: 2_109 }))).toMatchObject({ found: 2_110 });
    expect(reads).toHaveLength(4);
    expect(await levels(3).meter.measure(ID(0), limited({ depth: 2 }))).toMatchObject({ limit: 'depth', found: 3 });
    expect(await levels(3).meter.measure(ID(0), limited({ depth: 3 }))).toBeUndefined();
  });
});

describe('a source', () => {
  const start = (remote: ReturnType<typeof createFakeGitRemote>, limits: RevisionLimits, admitted?: string) => {
    const clock = createVirtualClock();
    const random = { next: () => 0.5, id: () => 'id' };
    const source = createGitSource(
      { repo: remote.repo('main'), decode: decodeFile, clock, random, log: createKeptLog() },
      { name: must(parseSourceName('main')), pollIntervalSeconds: 60, limits },
    );
    const recorder = createSourceRecorder();
    source.start(recorder, admitted, []);
    return { source, recorder };
  };
  const files = (count: number): Record<string, string | null> =>
    Object.fromEntries(
      Array.from({ length: 5 }, (_, index) => [`f${index}.yaml`, index < count ? object(`a${index}`) : null]),
    );

  it('waits with a revision above a limit, which no person can accept, and goes on with a smaller one', async () => {
    const remote = createFakeGitRemote();
    const good = remote.push(files(2));
    const { source, recorder } = start(remote, limited({ files: 3 }));
    await source.look?.();
    const large = remote.push(files(4));
    await source.look?.();
    const waits = recorder.lastCondition();
    expect(waits).toMatchObject({ state: 'refused', reason: 'TooLarge', revision: good, refusedRevision: large });
    expect(waits?.message).toMatch(
      /at least 4 manifests; at most 3 are read \(limits\.revision\.files of the RelayConfig\)/,
    );
    const reads = remote.reads.length;
    await source.look?.();
    expect(remote.reads).toHaveLength(reads);
    expect(source.accept(large)).toBe(false);
    const small = remote.push(files(3));
    await source.look?.();
    expect(recorder.lastCondition()).toMatchObject({ state: 'synced', revision: small });
    await source.stop();
  });

  it('goes on after a restart with a higher limit', async () => {
    const remote = createFakeGitRemote();
    const good = remote.push(files(2));
    const large = remote.push(files(4));
    const first = start(remote, limited({ files: 3 }), good);
    await first.source.look?.();
    expect(first.recorder.lastCondition()).toMatchObject({ reason: 'TooLarge', revision: good });
    await first.source.stop();
    const second = start(remote, limited({ files: 4 }), good);
    await second.source.look?.();
    expect(second.recorder.lastCondition()).toMatchObject({ state: 'synced', revision: large });
    await second.source.stop();
  });
});

describe('the decoder of servers', () => {
  const clock = createSystemClock();
  const open: (() => Promise<void>)[] = [];
  afterAll(async () => {
    for (const close of open) await close();
  });

  it('reads a large file in a thread as it does here', async () => {
    const decoder = await openSourceDecoder({ clock });
    open.push(decoder.close);
    const bytes = bytesOf(`${manifestOfBytes(40_000)}---\n${object('b')}data: { a: 1 }\n`);
    const file = await decoder.decode('a.yaml', bytes, 'blob');
    const here = decodeFile('a.yaml', bytes, 'blob');
    expect(file.reading).toEqual({ ...here.reading, findings: file.reading.findings });
    expect(file.size).toEqual(here.size);
  });

  it('takes a thread without memory for a look that failed, not for a verdict, and goes on', async () => {
    const small = await openSourceDecoder({ clock }, { heapMiB: 24 });
    open.push(small.close);
    const decode = small.decode;
    const outcome = readTree(
      {
        decode,
        read: async () => ({ bytes: bytesOf(`${object('a')}data: [${'{},'.repeat(200_000)}{}]\n`) }),
        maxFileBytes: 16_000_000,
        limits: defaultRevisionLimits,
      },
      emptyTree,
      [{ path: 'a.yaml', entry: { kind: 'file', blob: 'b', size: 600_000 } }],
    );
    await expect(outcome).rejects.toThrow(DecodingEnded);
  });
});
