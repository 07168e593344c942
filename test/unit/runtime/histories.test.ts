import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { comparePositions, type OutputPosition } from '../../../src/model/fleet/output.ts';
import { type DesiredFiles, declaredFor, isReadable, isWhole, repairedFiles } from '../../support/desired-files.ts';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { isLong } from '../../support/long.ts';
import { clusterYaml, configMapYaml, placementYaml } from '../../support/manifests.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const CLUSTERS = ['east', 'west'] as const;
const SOURCES = ['main', 'extra'] as const;
/** Histories of one run; FLEETRELAY_HISTORIES plays more of them. */
const RUNS = Number(process.env.FLEETRELAY_HISTORIES ?? (isLong ? 1_500 : 40));
type SourceId = (typeof SOURCES)[number];
/** Stands for the file of an object whose removal was sent. */
const LEFT = '';
const PLACEMENT = 'fleet/placement.yaml';
const typo = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [\n';
const start: DesiredFiles = new Map([
  ['clusters/east/cluster.yaml', clusterYaml('east')],
  ['clusters/west/cluster.yaml', clusterYaml('west')],
  ['fleet/placement.yaml', placementYaml('apps', 'apps/**')],
  ['apps/a.yaml', configMapYaml('a', '1')],
  ['@extra/clusters/east/x.yaml', configMapYaml('x', '1')],
]);

/** One file of one push. What lies under `@extra/` is in the other source, and declares other objects. */
type Edit =
  | { readonly type: 'write'; readonly path: string; readonly text: string | null }
  | { readonly type: 'rename'; readonly from: string; readonly to: string; readonly broken: boolean };

type Step =
  | { readonly type: 'push'; readonly edits: readonly Edit[] }
  | { readonly type: 'connect' | 'disconnect' | 'pause'; readonly cluster: string }
  | { readonly type: 'release'; readonly cluster: string; readonly outcome: 'accepted' | 'lost' }
  | { readonly type: 'restart'; readonly store: 'kept' | 'lost'; readonly late: readonly SourceId[] }
  | { readonly type: 'wait'; readonly milliseconds: number };

const paths = ['apps/a.yaml', 'apps/b.yaml', 'apps/sub/c.yaml', 'clusters/east/d.yaml', 'elsewhere/e.yaml'];
const extraPaths = ['@extra/clusters/east/x.yaml', '@extra/clusters/west/y.yaml'];
const extraNames = ['x', 'y'];
const objectsOf = (...names: string[]): fc.Arbitrary<string | null> =>
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc
        .uniqueArray(fc.record({ name: fc.constantFrom(...names), value: fc.constantFrom('1', '2') }), {
          selector: ({ name }) => name,
          maxLength: 2,
        })
        .map((all) => all.map(({ name, value }) => configMapYaml(name, value)).join('---\n')),
    },
    fc.constant(typo),
    fc.constant(null),
  );
const edit: fc.Arbitrary<Edit> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('write' as const),
      path: fc.constantFrom(...paths),
      text: objectsOf('a', 'b', 'c'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('write' as const),
      path: fc.constantFrom(...extraPaths),
      text: objectsOf(...extraNames),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('rename' as const),
      from: fc.constantFrom(...paths),
      to: fc.constantFrom(...paths),
      broken: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('write' as const),
      path: fc.constant('fleet/placement.yaml'),
      text: fc.constantFrom(
        placementYaml('apps', 'apps/**'),
        placementYaml('apps', 'apps/*.yaml', 'names: [west]'),
        typo,
        null,
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({ name: fc.constantFrom(...CLUSTERS), text: fc.constantFrom('complete', 'broken', 'gone') })
      .map(({ name, text }) => ({
        type: 'write' as const,
        path: `clusters/${name}/cluster.yaml`,
        text: text === 'gone' ? null : text === 'broken' ? typo : clusterYaml(name),
      })),
  },
);
const cluster = fc.constantFrom(...CLUSTERS);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ type: fc.constant('push'), edits: fc.array(edit, { minLength: 1, maxLength: 3 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ type: fc.constantFrom('connect', 'connect', 'disconnect', 'pause', 'pause'), cluster }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('release'), cluster, outcome: fc.constantFrom('accepted', 'lost') }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('restart'),
      store: fc.constantFrom('kept', 'lost'),
      late: fc.subarray([...SOURCES]),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('wait'), milliseconds: fc.constantFrom(100, 60_000, 700_000) }),
  },
);

/** Plays a history and checks every delta as it leaves. */
async function createPlayer() {
  let world = await createFleetWorld({ sources: SOURCES });
  let files: DesiredFiles = new Map(start);
  interface Seen {
    readonly deltas: number;
    readonly position: OutputPosition;
    /** By object key, the file it came from. */
    readonly paths: ReadonlyMap<string, string>;
  }
  const seen = new Map<string, Seen>();
  /** The file that an object was sent from last; nothing of a key stands in the way of others once its removal was sent. */
  const sentFrom = new Map<string, string>();
  const unread = new Set<SourceId>();
  /** A cluster stays registered until a complete revision of its source no longer declares it. */
  const registered = new Set<string>();
  /** The Placement as last known good holds until a complete revision of its source no longer declares it. */
  let placement: string | undefined;
  const effective = (): DesiredFiles => {
    const all = new Map(inSources(files));
    if (!isReadable(all, PLACEMENT) && placement !== undefined) all.set(PLACEMENT, placement);
    return all;
  };
  const noteRegistered = (): void => {
    const main = filesOf(files, 'main');
    if (isReadable(main, PLACEMENT)) placement = main.get(PLACEMENT);
    else if (isWhole(main)) placement = undefined;
    if (isWhole(main)) registered.clear();
    for (const name of CLUSTERS) if (isReadable(main, `clusters/${name}/cluster.yaml`)) registered.add(name);
  };

  /** A file proves that it no longer declares something only when all of its source can be read. */
  const isProvenGone = (key: string): boolean => {
    const source = sourceOfKey(key);
    return isWhole(filesOf(files, source)) && !unread.has(source);
  };

  /** What left since the last look was judged by the files as they are now: the server settles at each push. */
  const check = (): void => {
    for (const name of CLUSTERS) {
      const { deltas } = world.agent(name);
      const before = seen.get(name);
      let position = before?.position ?? { epoch: 0, sequence: 0 };
      for (const delta of deltas.slice(before?.deltas ?? 0)) {
        expect(comparePositions(delta.position, position), `positions of ${name} grow`).toBeGreaterThan(0);
        position = delta.position;
        const declared = declaredFor(effective(), name);
        for (const key of delta.removals) {
          sentFrom.set(`${name}${key}`, LEFT);
          const source = sourceOfKey(key);
          expect(isWhole(filesOf(files, source)), `${key} leaves ${name} while a file cannot be read`).toBe(true);
          expect(unread.has(source), `${key} leaves ${name} before its source is read`).toBe(false);
          expect([...declared.keys()], `${key} leaves ${name} and is declared`).not.toContain(key);
          expect([...registered], `${key} leaves ${name}, which is not registered`).toContain(name);
        }
        for (const { key, digest, origins } of delta.upserts) {
          expect([...(declared.get(key) ?? [])], `${key} enters ${name}`).toContain(digest);
          const incumbent = before?.paths.get(key);
          const newcomer = origins[0]?.path ?? '';
          const last = sentFrom.get(`${name}${key}`);
          if (incumbent !== undefined && incumbent !== newcomer && last !== newcomer && last !== LEFT) {
            expect(isProvenGone(key), `${newcomer} takes ${key} over from ${incumbent} in ${name}`).toBe(true);
          }
          sentFrom.set(`${name}${key}`, newcomer);
        }
        const { upserts, touches, removals } = delta;
        expect(upserts.length + touches.length + removals.length, 'a delta without a change').toBeGreaterThan(0);
      }
      const { position: held, entries } = world.agent(name).holding();
      const from = new Map(entries.map(({ key, origins }) => [key as string, origins[0]?.path ?? '']));
      seen.set(name, { deltas: deltas.length, position: held, paths: from });
    }
  };
  const settle = async (milliseconds = 60): Promise<void> => {
    await world.clock.advance(milliseconds);
    check();
  };
  const push = async (changes: Readonly<Record<string, string | null>>): Promise<void> => {
    for (const source of SOURCES) {
      const own = Object.entries(changes).filter(([path]) => sourceOf(path) === source);
      if (own.length === 0) continue;
      const next = new Map(files);
      for (const [path, text] of own) {
        if (text === null) next.delete(path);
        else next.set(path, text);
      }
      files = next;
      noteRegistered();
      world.sourceNamed(source).push(Object.fromEntries(own.map(([path, text]) => [inside(path), text])));
      check();
    }
    await settle();
  };
  const restart = async (store: 'kept' | 'lost', late: readonly SourceId[]): Promise<void> => {
    for (const agent of world.agents.known.values()) agent.abandon();
    world = await createFleetWorld({
      ...(store === 'kept' ? { store: world.store } : {}),
      // A server without a memory may also have a wrong clock.
      clock: createVirtualClock(world.clock.now() - (store === 'lost' ? 86_400_000 : 0)),
      agents: world.agents,
      sources: SOURCES,
    });
    for (const source of SOURCES) unread.add(source);
    if (store === 'lost') {
      registered.clear();
      placement = undefined;
    }
    const read = (source: SourceId): void => {
      unread.delete(source);
      if (source === 'main') noteRegistered();
      const all = [...filesOf(files, source)].map(([path, text]) => [inside(path), text]);
      world.sourceNamed(source).push(Object.fromEntries(all));
    };
    for (const source of SOURCES) {
      if (late.includes(source)) world.sourceNamed(source).condition({ state: 'failing', reason: 'Unreachable' });
      else read(source);
    }
    check();
    if (late.length > 0) {
      for (const name of CLUSTERS) world.agent(name).connect();
      await settle();
      for (const source of late) read(source);
      check();
    }
    await settle();
  };
  const play = async (next: Step): Promise<void> => {
    switch (next.type) {
      case 'push':
        return push(changesOf(files, next.edits));
      case 'connect':
        world.agent(next.cluster).connect();
        return settle();
      case 'disconnect':
        world.agent(next.cluster).disconnect();
        world.agent(next.cluster).release('lost');
        return settle();
      case 'pause':
        return world.agent(next.cluster).pause();
      case 'release':
        // A delta that does not arrive means that its stream broke.
        if (next.outcome === 'lost') world.agent(next.cluster).disconnect();
        world.agent(next.cluster).release(next.outcome);
        return settle();
      case 'restart':
        return restart(next.store, next.late);
      case 'wait':
        return settle(next.milliseconds);
    }
  };
  const sent = (): number => CLUSTERS.reduce((sum, name) => sum + world.agent(name).deltas.length, 0);
  return {
    play,
    push,
    restart,
    settle,
    sent,
    world: (): FleetWorld => world,
    files: (): DesiredFiles => files,
    connectAll: async () => {
      for (const name of CLUSTERS) {
        world.agent(name).release('accepted');
        world.agent(name).connect();
      }
      await settle(1_000);
    },
  };
}

function sourceOfKey(key: string): SourceId {
  return extraNames.some((name) => key.endsWith(`/${name}`)) ? 'extra' : 'main';
}

function sourceOf(path: string): SourceId {
  return path.startsWith('@extra/') ? 'extra' : 'main';
}

/** The path in its source. */
function inside(path: string): string {
  return path.replace(/^@extra\//, '');
}

/** Both sources' files; no path is in both. */
function inSources(files: DesiredFiles): DesiredFiles {
  return new Map([...files].map(([path, text]) => [inside(path), text]));
}

function filesOf(files: DesiredFiles, source: SourceId): DesiredFiles {
  return new Map([...files].filter(([path]) => sourceOf(path) === source));
}

type Player = Awaited<ReturnType<typeof createPlayer>>;

function changesOf(files: DesiredFiles, edits: readonly Edit[]): Readonly<Record<string, string | null>> {
  const changes: Record<string, string | null> = {};
  for (const each of edits) {
    if (each.type === 'write') changes[each.path] = each.text;
    else if (each.from !== each.to) {
      const text = files.get(each.from);
      if (text === undefined) continue;
      changes[each.from] = null;
      changes[each.to] = each.broken ? typo : text;
    }
  }
  return changes;
}

/** Whole files, every agent connected, nothing held: then every cluster holds exactly what is declared for it. */
async function quiet(player: Player): Promise<void> {
  await player.push(repairedFiles(player.files(), start));
  await player.connectAll();
  for (const { digest } of player.world().server.api.removals())
    await player.world().server.api.approve(digest, 'test');
  await player.settle(1_000);
}

function expectDeclared(player: Player): void {
  const { engine } = player.world().server;
  for (const name of CLUSTERS) {
    const declared = declaredFor(inSources(player.files()), name);
    const { entries } = player.world().agent(name).holding();
    expect(entries.map(({ key }) => key).sort(), `what ${name} holds`).toEqual([...declared.keys()].sort());
    for (const { key, digest } of entries) expect([...(declared.get(key) ?? [])]).toContain(digest);
    expect(engine.inputs.ledger.size(name), `the ledger of ${name}`).toBe(entries.length);
    expect(engine.pending.size(name), `what ${name} lacks`).toBe(0);
  }
  expect(engine.inputs.approvals.size(), 'approvals that are left').toBe(0);
  expect(engine.indexes.held.count('all'), 'held removals').toBe(0);
}

describe('histories of a fleet', () => {
  it('lose nothing that is declared or doubtful, and come to rest at what is declared', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25, size: 'max' }), async (steps) => {
        const player = await createPlayer();
        await player.push(Object.fromEntries(start));
        await player.connectAll();
        for (const each of steps) await player.play(each);
        await quiet(player);
        expectDeclared(player);
        const before = player.sent();
        await player.push({ 'fleet/placement.yaml': `# a comment\n${player.files().get('fleet/placement.yaml')}` });
        for (const store of ['kept', 'lost'] as const) {
          await player.restart(store, ['extra']);
          await player.connectAll();
          expect(player.sent(), `deltas after a restart with a store that is ${store}`).toBe(before);
        }
      }),
      { numRuns: RUNS },
    );
  });
});
