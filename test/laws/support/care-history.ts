import { load } from 'js-yaml';
import { createMemoryStore } from '../../../src/adapters/stores/memory.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import { createFleetWorld, type FleetWorld } from '../../support/fleet-world.ts';
import { clusterYaml } from '../../support/manifests.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

/** One thing that happens to a Shoot, its cluster, its agent or the server. */
export type CareStep =
  | { readonly type: 'wait'; readonly seconds: number }
  | { readonly type: 'api'; readonly isUp: boolean }
  | { readonly type: 'node'; readonly name: string; readonly isReady: boolean }
  | { readonly type: 'agent'; readonly isThere: boolean }
  /** Store: lost, or as it was. */
  | { readonly type: 'restart'; readonly isStoreLost: boolean };

/** A condition as it was written, times in milliseconds since 1970. */
export interface WrittenCondition {
  readonly status: string;
  readonly reason: string;
  readonly transition: number;
}

/** A status of the Shoot as it was written. */
export interface WrittenStatus {
  readonly at: number;
  readonly conditions: Readonly<Record<string, WrittenCondition>>;
  readonly operation: { readonly type: string; readonly state: string; readonly at: number } | undefined;
  /** Without times. */
  readonly timeless: string;
}

/** What a history has led to. */
export interface CareHistory {
  readonly written: readonly WrittenStatus[];
  /** What held at the end of each step, when everything was quiet. */
  readonly moments: readonly CareMoment[];
}

/** The truth at the end of a step, and what was written by then. */
export interface CareMoment {
  readonly at: number;
  readonly step: CareStep;
  readonly status: WrittenStatus | undefined;
  /** Since when each type has been found good or failing without a break, as the server could know. */
  readonly found: Readonly<Record<string, { readonly isGood: boolean; readonly since: number }>>;
  /** Since when the agent has been away; undefined: it is connected. */
  readonly awaySince: number | undefined;
}

export const API = 'APIServerAvailable';
export const NODES = 'EveryNodeReady';

const PATH = 'shoots/garden-web/blue.yaml';
const SHOOT = `apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: { name: blue, namespace: garden-web }
spec:
  kubernetes: { version: 1.33.2 }
  provider: { type: local, workers: [{ name: worker, minimum: 0, maximum: 3 }] }
`;

/** Plays a history on a real management server with a clock of its own. */
export async function playCare(steps: readonly CareStep[]): Promise<CareHistory> {
  const clock = createVirtualClock();
  const written: WrittenStatus[] = [];
  const files = new Map<string, string>();
  const store = createMemoryStore();
  let world = await createFleetWorld({ clock, statusFiles: files, store });
  let awaySince: number | undefined;
  const nodes = new Map<string, boolean>([['one', true]]);
  let isApiUp = true;
  const found: Record<string, { isGood: boolean; since: number }> = {};

  const note = (): void => {
    const text = files.get(PATH);
    const status = text === undefined ? undefined : statusOf(clock.now(), text);
    if (status !== undefined && JSON.stringify(status.conditions) !== JSON.stringify(written.at(-1)?.conditions)) {
      written.push(status);
    } else if (status !== undefined && status.timeless !== written.at(-1)?.timeless) written.push(status);
  };
  /** What the agent's last snapshot says. */
  const find = (): void => {
    const now = { [API]: isApiUp, [NODES]: [...nodes.values()].every((isReady) => isReady) };
    for (const [type, isGood] of Object.entries(now)) {
      if (found[type]?.isGood !== isGood) found[type] = { isGood, since: clock.now() };
    }
  };
  const report = (): void => {
    if (awaySince !== undefined) return;
    world
      .agent('blue')
      .discovers({ upserts: [probe(isApiUp), LEASES, ...[...nodes].map(([name, ready]) => node(name, ready))] });
    find();
  };
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      await clock.advance(1_000);
      note();
    }
  };
  const declare = (): void => world.source.push({ 'blue.yaml': clusterYaml('blue'), 'shoot.yaml': SHOOT });
  const connect = (): void => {
    awaySince = undefined;
    world.agent('blue').connect();
    report();
  };

  declare();
  connect();
  await pass(10);
  const moments: CareMoment[] = [];
  for (const step of steps) {
    await take(step);
    const status = written.at(-1);
    moments.push({ at: clock.now(), step, status, found: { ...found }, awaySince });
  }
  await world.server.stop();
  return { written, moments };

  async function take(step: CareStep): Promise<void> {
    switch (step.type) {
      case 'wait':
        return pass(step.seconds);
      case 'api':
        isApiUp = step.isUp;
        report();
        break;
      case 'node':
        nodes.set(step.name, step.isReady);
        report();
        break;
      case 'agent':
        if (step.isThere && awaySince !== undefined) connect();
        if (!step.isThere && awaySince === undefined) {
          world.agent('blue').disconnect();
          awaySince = clock.now();
        }
        break;
      case 'restart':
        await restart(step.isStoreLost);
        break;
    }
    await pass(5);
  }

  async function restart(isStoreLost: boolean): Promise<void> {
    const before: FleetWorld = world;
    await before.server.stop();
    before.agent('blue').abandon();
    world = await createFleetWorld({
      ...{ clock, statusFiles: files, agents: before.agents },
      store: isStoreLost ? createMemoryStore() : before.store,
    });
    declare();
    await pass(3);
    if (awaySince === undefined) connect();
  }
}

const LEASES: JsonObject = {
  ...{ apiVersion: 'internal.fleetrelay.dev/v1', kind: 'LeaseReport', metadata: { name: 'leases' } },
  status: { valid: ['kube-node-lease/one', 'kube-node-lease/two'], expired: [] },
};

function probe(isUp: boolean): JsonObject {
  const status = isUp ? { code: 200 } : { code: 500, body: 'down' };
  return { apiVersion: 'internal.fleetrelay.dev/v1', kind: 'ApiServerProbe', metadata: { name: 'healthz' }, status };
}

function node(name: string, isReady: boolean): JsonObject {
  return {
    ...{ apiVersion: 'v1', kind: 'Node', metadata: { name, labels: { 'worker.gardener.cloud/pool': 'worker' } } },
    status: {
      nodeInfo: { kubeletVersion: 'v1.33.2' },
      conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False', reason: 'Kubelet', message: '' }],
    },
  };
}

interface StatusFile {
  readonly status: {
    readonly conditions?: readonly Readonly<Record<string, string>>[];
    readonly lastOperation?: Readonly<Record<string, string>>;
  };
}

function statusOf(at: number, text: string): WrittenStatus {
  const { status } = load(text) as StatusFile;
  const { conditions = [], lastOperation } = status;
  const millis = (time = ''): number => Date.parse(time);
  return {
    at,
    conditions: Object.fromEntries(
      conditions.map(({ type = '', status: value = '', reason = '', lastTransitionTime }) => [
        type,
        { status: value, reason, transition: millis(lastTransitionTime) },
      ]),
    ),
    operation:
      lastOperation === undefined
        ? undefined
        : {
            type: lastOperation.type ?? '',
            state: lastOperation.state ?? '',
            at: millis(lastOperation.lastUpdateTime),
          },
    timeless: text.replace(/.*(lastTransitionTime|lastUpdateTime).*\n/g, ''),
  };
}
