import type { KindState } from '../../src/model/agent/agent.ts';
import type { ConditionValue } from '../../src/model/fleet/conditions.ts';
import type { JsonObject } from '../../src/model/text/json.ts';
import { createDeclarationRecorder } from '../../src/runtime/ledger/recorders.ts';
import { createEngineWorld } from './engine-world.ts';
import { clusterYaml } from './manifests.ts';

/** The key of the only Shoot of a {@link careWorld}. */
export const SHOOT = 'garden-web/blue';
/** The namespace of its control plane. */
export const CONTROL_PLANE = 'shoot--web--blue';
/** When both clusters have connected, in whole seconds since 1970. */
export const SINCE = 1_767_225_600;

/** The manifest of the Shoot. */
export function shootYaml(spec: string): string {
  return `apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {name: blue, namespace: garden-web}\nspec: ${spec}\n`;
}

/** An engine with the Shoot `garden-web/blue` in the directory cluster `blue`, and with the directory cluster `seed`. */
export function careWorld(spec = '{}') {
  const made = createEngineWorld();
  const { engine } = made;
  const { inputs } = engine;
  const record = createDeclarationRecorder(engine, { put: () => undefined } as never);
  const isHere = { since: SINCE * 1000, problem: '', warm: true, assumedWarm: false, kindsAsWritten: true };
  for (const name of ['blue', 'seed']) {
    made.file(`${name}.yaml`, clusterYaml(name));
    inputs.agents.set('', name, { ...isHere, connected: true });
    inputs.snapshots.set('', name, { since: SINCE * 1000 });
  }
  made.file('shoot.yaml', shootYaml(spec));
  engine.commit();
  let digests = 0;
  const status = () => engine.statuses.get('Shoot', SHOOT);
  return {
    ...made,
    status,
    /** Stages the Shoot's spec. */
    spec(text: string): void {
      made.file('shoot.yaml', shootYaml(text));
      engine.commit();
    },
    /** Stages the spec of the FleetPolicy. */
    policy(text: string): void {
      const head = 'apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata: {name: fleet}';
      made.file('policy.yaml', `${head}\nspec: ${text}\n`);
      engine.commit();
    },
    /** Stages a live object; absent without `value`. */
    live(cluster: string, key: string, value?: JsonObject): void {
      digests += 1;
      if (value === undefined) inputs.live.delete(cluster, key);
      else inputs.live.set(cluster, key, { key, value, digest: String(digests) } as never);
      engine.commit();
    },
    /** Stages that a kind is not complete. */
    kind(cluster: string, kind: string, state: Partial<KindState>): void {
      inputs.kinds.set(cluster, kind, { kind, state: 'complete', message: '', ...state });
      engine.commit();
    },
    /** Stages that an agent has connected or disconnected. */
    connection(cluster: string, connected: boolean): void {
      inputs.agents.set('', cluster, { ...isHere, connected });
      engine.commit();
    },
    /** Stages that a moment has passed. */
    passed(key: string, at: number): void {
      inputs.elapsed.set('care', key, at);
      engine.commit();
    },
    /** Stages fields of the status written last, whose last operation has succeeded unless `fields` say otherwise. */
    wrote(fields: JsonObject = {}): void {
      const lastOperation = { type: 'Create', state: 'Succeeded', lastUpdateTime: '2026-01-01T00:00:00Z' };
      inputs.observed.set('Shoot', SHOOT, { conditions: [], fields: { lastOperation, ...fields } });
      engine.commit();
    },
    /** Stages the status that follows now as the one written last. */
    writes(): void {
      const { fields = {}, timedFields = {}, conditions = [] } = status() ?? {};
      const times = { lastTransitionTime: '2026-01-01T00:00:00Z', lastUpdateTime: '2026-01-01T00:00:00Z' };
      const timed = Object.entries(timedFields).map(([name, value]) => [name, { ...value, ...times }]);
      inputs.observed.set('Shoot', SHOOT, {
        conditions: conditions.map((each) => ({ ...each, ...times })),
        fields: { ...fields, ...Object.fromEntries(timed) },
      });
      engine.commit();
    },
    /** Commits, and records declarations as last known good. */
    record(): void {
      do engine.commit();
      while (record());
    },
    condition: (type: string): ConditionValue | undefined => status()?.conditions.find((each) => each.type === type),
    constraints: (): readonly ConditionValue[] => status()?.conditionLists?.constraints ?? [],
  };
}
