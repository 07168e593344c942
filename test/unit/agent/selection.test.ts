import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createDiscovery } from '../../../src/agent/discovery/discovery.ts';
import { createSelection } from '../../../src/agent/discovery/selection.ts';
import { EMPTY_INVENTORY } from '../../../src/agent/reconciler/inventory.ts';
import type { KindState } from '../../../src/model/agent/agent.ts';
import { type AgentSettings, NO_SETTINGS } from '../../../src/model/agent/agent-settings.ts';
import type { FleetName } from '../../../src/model/fleet/ids.ts';
import type { ObjectKey } from '../../../src/model/objects/object-key.ts';
import { objectDigest } from '../../../src/model/text/digest.ts';
import { canonicalJson, type JsonObject, objectOf } from '../../../src/model/text/json.ts';
import type { ObservedObject } from '../../../src/ports/cluster-api.ts';
import type { InputSnapshot } from '../../../src/relay/session.ts';
import { objectRecords } from '../../../src/relay/wire/records.ts';
import { keyOf } from '../../support/agent-world.ts';

interface Labelled {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

function namespace(name: string, metadata: Labelled = {}): JsonObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, ...metadata } };
}

function service(name: string, inside: string, metadata: Labelled = {}): JsonObject {
  return { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: inside, ...metadata } };
}

const KINDS: readonly KindState[] = ['/Namespace', '/Service'].map((kind) => ({
  kind,
  state: 'complete',
  message: '',
}));

/** A discovery with a hand in the cluster and in the policy; says what is in the snapshot after each look. */
function createWorld(view: boolean) {
  const objects = new Map<ObjectKey, ObservedObject>();
  const changed = new Set<ObjectKey>();
  let settings: AgentSettings = NO_SETTINGS;
  let kinds = KINDS;
  let latest: InputSnapshot | undefined;
  const hints: (ReadonlySet<string> | undefined)[] = [];
  const discovery = createDiscovery(
    {
      publishInput: (snapshot, hint) => {
        latest = snapshot;
        hints.push(hint);
      },
    },
    () => settings,
  );
  const world = {
    hints,
    put: (...values: readonly JsonObject[]) => world.putStamped(undefined, ...values),
    putStamped: (stamp: ObservedObject['stamp'], ...values: readonly JsonObject[]) => {
      for (const value of values) {
        const key = keyOf(value);
        changed.add(key);
        objects.set(key, {
          key,
          where: '',
          ...(stamp === undefined ? {} : { stamp }),
          get value() {
            return structuredClone(value) as JsonObject;
          },
        });
      }
    },
    /** Its file cannot be read any more, and the adapter knows only its name. */
    tear: (value: JsonObject) => {
      const key = keyOf(value);
      changed.add(key);
      objects.set(key, { key, where: '', value: { metadata: objectOf(value.metadata) }, stale: true });
    },
    remove: (value: JsonObject) => {
      changed.add(keyOf(value));
      objects.delete(keyOf(value));
    },
    set: (said: Partial<AgentSettings['discovery']>) => {
      settings = { ...NO_SETTINGS, discovery: { ...NO_SETTINGS.discovery, ...said } };
    },
    lists: (said: readonly KindState[]) => {
      kinds = said;
    },
    look: (): readonly string[] => {
      const since = new Set(changed);
      changed.clear();
      const shown = view ? { objects, changed: since } : { objects: new Map(objects) };
      discovery.take({ ...shown, kinds, diagnostics: [], paused: false }, EMPTY_INVENTORY.records);
      return [...(latest?.objects.keys() ?? [])].sort();
    },
    latest: () => latest,
  };
  return world;
}

const disabled = { annotations: { 'fleetrelay.dev/discovery': 'disabled' } };
const web = '/Service/web/a';

describe.each([true, false])('what stays out of the input snapshot (a view that says what changed: %s)', (view) => {
  test('what was reported of an object stays while its file cannot be read, unless its name leaves it out', () => {
    const world = createWorld(view);
    world.put(service('a', 'web'));
    world.look();
    const before = world.latest()?.objects.get(keyOf(service('a', 'web')));
    world.tear(service('a', 'web'));
    expect(world.look()).toEqual([web]);
    expect(world.latest()?.objects.get(keyOf(service('a', 'web')))?.digest).toBe(before?.digest);
    world.set({ excludedNamespaces: ['web'] });
    expect(world.look()).toEqual([]);
  });

  test('namespaces and kinds by name, without making a kind empty', () => {
    const world = createWorld(view);
    world.put(namespace('web'), service('a', 'web'), namespace('kube-system'), service('dns', 'kube-system'));
    world.set({ excludedNamespaces: ['kube-system'] });
    expect(world.look()).toEqual(['/Namespace//web', web]);
    world.set({ excludedKinds: ['/Service'] });
    expect(world.look()).toEqual(['/Namespace//kube-system', '/Namespace//web']);
    expect(world.latest()?.kinds).toEqual([
      { kind: '/Namespace', state: 'complete', message: '' },
      { kind: '/Service', state: 'offered', message: '' },
    ]);
    world.set({});
    expect(world.look()).toHaveLength(4);
    expect(world.latest()?.kinds).toEqual(KINDS);
  });

  test('objects that mirroring made, unless another owner has them', () => {
    const world = createWorld(view);
    const labels = { 'gimbal.projectcontour.io/backend': 'default' };
    const stampOf = (key: string): ObservedObject['stamp'] => ({
      ...{ fleet: 'f' as FleetName, key: key as ObjectKey, nonce: 'n', origins: [], scope: [] },
    });
    world.put(namespace('web'));
    world.putStamped(stampOf('/Service/web/a'), service('a', 'web', { labels }));
    world.putStamped(stampOf('/Service/web/b'), service('b', 'web'));
    // A copy of its labels and of its stamp.
    world.putStamped(stampOf('/Service/web/a'), service('c', 'web', { labels }));
    world.put(service('d', 'web', { labels }));
    expect(world.look()).toEqual(['/Namespace//web', '/Service/web/b', '/Service/web/c', '/Service/web/d']);
    world.put(service('a', 'web', { labels }));
    expect(world.look()).toContain('/Service/web/a');
  });

  test('an object, or all of a Namespace, by annotation, as long as it is there', () => {
    const world = createWorld(view);
    world.put(namespace('web'), service('a', 'web'), service('b', 'web', disabled));
    expect(world.look()).toEqual(['/Namespace//web', web]);
    world.put(namespace('web', disabled));
    expect(world.look()).toEqual([]);
    world.put(namespace('web'), service('b', 'web'));
    expect(world.look()).toEqual(['/Namespace//web', web, '/Service/web/b']);
  });

  test('by labels of Namespaces; of one that cannot be seen none are known', () => {
    const world = createWorld(view);
    world.set({ namespaceSelector: { matchLabels: { team: 'a' }, matchExpressions: [] } });
    world.put(namespace('web', { labels: { team: 'a' } }), service('a', 'web'), service('a', 'dark'));
    expect(world.look()).toEqual(['/Namespace//web', web]);
    world.put(namespace('web', { labels: { team: 'b' } }));
    expect(world.look()).toEqual([]);
    world.put(namespace('dark', { labels: { team: 'a' } }));
    expect(world.look()).toEqual(['/Namespace//dark', '/Service/dark/a']);
    world.remove(namespace('dark'));
    expect(world.look()).toEqual([]);
  });

  test('while the Namespaces cannot be listed, what a selector of them leaves out is not gone', () => {
    const world = createWorld(view);
    const unseen: KindState = { kind: '/Namespace', state: 'unknown', message: 'not allowed', scope: 'Cluster' };
    const services: KindState = { kind: '/Service', state: 'complete', message: '', scope: 'Namespaced' };
    const nodes: KindState = { kind: '/Node', state: 'complete', message: '', scope: 'Cluster' };
    world.set({ namespaceSelector: { matchLabels: { team: 'a' }, matchExpressions: [] } });
    world.put(service('a', 'web'));
    world.lists([unseen, services, nodes]);
    world.look();
    const message = 'Namespaces are selected by labels, and cannot be listed: not allowed';
    expect(world.latest()?.kinds).toEqual([unseen, { ...services, state: 'unknown', message }, nodes]);
    world.put(namespace('web', { labels: { team: 'a' } }));
    world.lists([{ ...unseen, state: 'complete', message: '' }, services, nodes]);
    expect(world.look()).toEqual(['/Namespace//web', web]);
    expect(world.latest()?.kinds).toContainEqual(services);
  });

  test('a Namespace that the server counts on is named in every kind while it is excluded', () => {
    const world = createWorld(view);
    const services: KindState = { kind: '/Service', state: 'complete', message: '', scope: 'Namespaced' };
    const nodes: KindState = { kind: '/Node', state: 'complete', message: '', scope: 'Cluster' };
    const secrets: KindState = { kind: '/Secret', state: 'complete', message: '', unlisted: { more: 'no right' } };
    world.lists([services, nodes, secrets]);
    world.set({ additionalKinds: [{ kinds: ['/Secret'], namespaces: ['web', 'more'] }] });
    world.put(namespace('web'), namespace('other', disabled));
    world.look();
    expect(world.latest()?.kinds).toEqual([services, nodes, secrets]);
    world.put(namespace('web', disabled));
    world.look();
    const why = 'the FleetPolicy or an annotation leaves this Namespace out of discovery';
    expect(world.latest()?.kinds).toEqual([
      { ...services, unlisted: { web: why } },
      nodes,
      { ...secrets, unlisted: { more: 'no right', web: why } },
    ]);
    world.put(namespace('web'));
    world.look();
    expect(world.latest()?.kinds).toEqual([services, nodes, secrets]);
  });

  test('of an object of a folder only what an API server alone sets, and the values of a Secret', () => {
    const world = createWorld(view);
    const metadata = { name: 'a', namespace: 'web', generation: 3 };
    const written = { ...metadata, uid: 'u', resourceVersion: '7', managedFields: [] };
    const status = { observedGeneration: 2 };
    world.put({ apiVersion: 'v1', kind: 'Service', metadata: written, status });
    world.put({ apiVersion: 'v1', kind: 'Secret', metadata: written, data: { a: 'YQ==' }, stringData: { b: 'b' } });
    // Nothing of a folder is left out because the server asks for a part of a kind.
    world.set({ additionalKinds: [{ kinds: ['/Secret'], namespaces: ['other'], metadataOnly: true }] });
    expect(world.look()).toEqual(['/Secret/web/a', web]);
    const values = [...(world.latest()?.objects.values() ?? [])].map(({ value }) => value);
    expect(values).toContainEqual({ apiVersion: 'v1', kind: 'Service', metadata, status });
    expect(values).toContainEqual({ apiVersion: 'v1', kind: 'Secret', metadata });
  });

  test('by labels of the object', () => {
    const world = createWorld(view);
    const selector = {
      matchLabels: {},
      matchExpressions: [{ key: 'private', operator: 'DoesNotExist' as const, values: [] }],
    };
    world.set({ objectSelector: selector });
    world.put(service('a', 'web'), service('b', 'web', { labels: { private: '' } }));
    expect(world.look()).toEqual([web]);
  });
});

test('one changed object is compared alone, and unchanged objects are not published', () => {
  const world = createWorld(true);
  world.put(...Array.from({ length: 100 }, (_, index) => service(`s${index}`, 'web')));
  world.look();
  world.look();
  expect(world.hints).toEqual([undefined]);
  world.put(service('s1', 'web', { labels: { a: 'b' } }), service('s2', 'web'));
  world.look();
  expect(world.hints.slice(1)).toEqual([new Set(['/Service/web/s1'])]);
  expect(world.latest()?.objects.get('/Service/web/s1')?.digest).toBe(
    objectDigest(service('s1', 'web', { labels: { a: 'b' } })),
  );
});

test('changes that a failed state missed are taken with the next state', () => {
  const world = createWorld(true);
  world.put(service('a', 'web'));
  world.look();
  world.put(service('b', 'web'), broken('c'));
  expect(() => world.look()).toThrow('broken');
  world.remove(broken('c'));
  expect(world.look()).toEqual([web, '/Service/web/b']);
  expect(world.hints).toEqual([undefined, undefined]);
});

/** A service that cannot be read. */
function broken(name: string): JsonObject {
  return Object.defineProperty(service(name, 'web'), 'spec', {
    enumerable: true,
    get: () => {
      throw new Error('broken');
    },
  });
}

const step = fc.record({
  what: fc.constantFrom('namespace', 'service', 'settings', 'remove') as fc.Arbitrary<
    'namespace' | 'service' | 'settings' | 'remove'
  >,
  where: fc.constantFrom('x', 'y'),
  team: fc.constantFrom('a', 'b'),
  off: fc.boolean(),
  look: fc.boolean(),
});

test('incremental selection equals complete selection', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const worlds = [createWorld(true), createWorld(false)];
      for (const { what, where, team, off, look } of steps) {
        for (const world of worlds) {
          const metadata = { labels: { team }, ...(off ? disabled : {}) };
          if (what === 'namespace') world.put(namespace(where, metadata));
          else if (what === 'service') world.put(service('s', where, metadata));
          else if (what === 'remove') world.remove(off ? namespace(where) : service('s', where));
          else {
            const selector = { matchLabels: { team }, matchExpressions: [] };
            world.set(
              off ? { namespaceSelector: selector } : { objectSelector: selector, excludedNamespaces: [where] },
            );
          }
        }
        if (look) expect(worlds[0]?.look()).toEqual(worlds[1]?.look());
      }
      expect(worlds[0]?.look()).toEqual(worlds[1]?.look());
    }),
  );
});

test('the value of an object is not read where its kind is excluded from discovery', () => {
  const selection = createSelection({
    ...NO_SETTINGS,
    discovery: { ...NO_SETTINGS.discovery, excludedKinds: ['/Service'] },
  });
  const unread = (): JsonObject => {
    throw new Error('the value was read');
  };
  expect(selection.takes(keyOf(service('a', 'web')), unread)).toBe(false);
  expect(() => selection.takes(keyOf(namespace('web')), unread)).toThrow('the value was read');
});

test.each([
  ['its canonical bytes', { content: true }],
  ['no bytes', {}],
  ['a value that its adapter does not keep', { isReread: true }],
] as const)('an own object with %s is read once for the snapshot', (_, kept) => {
  let reads = 0;
  // A Service is read once more, to see whether it is a gateway.
  const value: JsonObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'web' } };
  const key = keyOf(value);
  const observed: ObservedObject = {
    key,
    get value() {
      reads += 1;
      return value;
    },
    where: 'memory',
    stamp: { fleet: 'fleet' as FleetName, key, nonce: '', origins: [], scope: [] },
    ...('content' in kept ? { content: new TextEncoder().encode(canonicalJson(value)) } : {}),
    ...('isReread' in kept ? { isReread: true } : {}),
  };
  let latest: InputSnapshot | undefined;
  const discovery = createDiscovery(
    {
      publishInput: (snapshot) => {
        latest = snapshot;
      },
    },
    () => NO_SETTINGS,
  );
  const live = {
    objects: new Map([[key, observed]]),
    changed: new Set([key]),
    kinds: KINDS,
    diagnostics: [],
    paused: false,
  };
  discovery.take(live, EMPTY_INVENTORY.records);
  expect(reads).toBe(1);
  expect(latest?.objects.get(key)?.digest).toBe(objectDigest(value));
  expect(latest?.objects.get(key)?.value).toEqual(value);
});

test('an object whose bytes are known is sent without its value', () => {
  const value = service('a', 'web');
  const unread = {
    key: keyOf(value),
    digest: objectDigest(value),
    content: new TextEncoder().encode(canonicalJson(value)),
    get value(): JsonObject {
      throw new Error('the value was read');
    },
  };
  const [record] = objectRecords(unread, 1_000);
  expect(record).toMatchObject({ case: 'object', value: { key: unread.key, content: unread.content } });
});
