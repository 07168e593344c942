import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fieldDiff, MASKED } from '../../../src/model/field-diff.ts';
import { parseFieldPath } from '../../../src/model/field-path.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonEquals } from '../../../src/model/json.ts';
import { objectRefOf } from '../../../src/model/object-key.ts';
import { must } from '../../../src/model/result.ts';
import { updateOutlook } from '../../../src/model/updates/update-outlook.ts';
import type { ClusterApi } from '../../../src/ports/cluster-api.ts';
import '../../support/generated-cases.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { pairs } from '../../support/kubernetes/update-pairs.ts';
import { noProgram } from '../../support/programs.ts';
import { createKubernetesWorld, type KubernetesWorld } from './kubernetes-harness.ts';
import { keyOf, request } from './suite.ts';

describe.skipIf(noProgram('kube-apiserver'))('updates on a Kubernetes cluster', () => {
  let plane: ControlPlane;
  let world: KubernetesWorld;
  let cluster: ClusterApi;
  beforeAll(async () => {
    plane = await startControlPlane();
  });
  afterAll(() => plane?.stop());
  beforeEach(async () => {
    world = await createKubernetesWorld(plane);
    cluster = await world.begin();
  });
  afterEach(() => world.close());

  const live = (value: JsonObject): Promise<JsonObject> => {
    const { group, kind, name } = objectRefOf(keyOf(value));
    return plane.get(`${kind}${group === '' ? '' : `.${group}`}`, name, '-n', world.web);
  };
  test('random pairs of manifests end as they are planned', { timeout: 1_200_000 }, async () => {
    await plane.kubectl(['create', 'serviceaccount', 'robot', '-n', world.web]);
    const wrong: string[] = [];
    let judged = 0;
    for (const [round, pair] of fc.sample(pairs, { numRuns: ROUNDS }).entries()) {
      const [before, after] = pair.map((manifest): JsonObject => {
        const name = `${String(manifest.kind).toLowerCase()}-${round}`;
        return { ...manifest, metadata: { name, namespace: world.web } };
      }) as [JsonObject, JsonObject];
      // Some combinations are no object at all.
      if ((await world.preview(request(after))).type !== 'create') continue;
      if ((await cluster.apply(request(before))).type !== 'applied') continue;
      judged += 1;
      const found = await difference(before, after);
      if (found !== undefined) wrong.push(`${found}: ${JSON.stringify(before)} -> ${JSON.stringify(after)}`);
      await plane.kubectl(['delete', String(after.kind), String(nameOf(after)), '-n', world.web, '--wait=false']);
    }
    expect(wrong).toEqual([]);
    expect(judged).toBeGreaterThan(ROUNDS / 2);
  });

  /** What is otherwise than planned; undefined: nothing. */
  async function difference(before: JsonObject, after: JsonObject): Promise<string | undefined> {
    const changes = fieldDiff(before, after);
    const planned = updateOutlook(objectRefOf(keyOf(before)), before, after, changes);
    const outcome = await cluster.apply(request(after));
    const isRefused = planned.refused.length > 0;
    if (outcome.type === 'failed') return isRefused ? undefined : `refused (${outcome.reason}: ${outcome.message})`;
    if (isRefused) return `taken, ${planned.refused} planned to be refused`;
    const now = await live(after);
    const said = [...planned.kept, ...planned.restored];
    const wrong = said.find(({ path, value }) => !jsonEquals(valueAt(now, path), value));
    if (wrong !== undefined)
      return `${wrong.path} is ${JSON.stringify(valueAt(now, wrong.path))}, planned ${JSON.stringify(wrong.value)}`;
    const silent = changes.filter(({ path, before: was, after: is }) => {
      if (path.endsWith(']') || is === MASKED || said.some((each) => each.path === path)) return false;
      const found = valueAt(now, path);
      // What is left out without a word is gone, or has the value that it had.
      return is === undefined ? !(found === undefined || isEmpty(found) || includes(found, was)) : !includes(found, is);
    });
    const [first] = silent;
    return first && `${first.path} is ${JSON.stringify(valueAt(now, first.path))} without a word`;
  }
});

/** Of the generated pairs. */
const ROUNDS = 600;

function nameOf({ metadata }: JsonObject): unknown {
  return (metadata as JsonObject).name;
}

function valueAt(value: JsonObject, path: string): JsonValue | undefined {
  return must(parseFieldPath(path)).reduce<JsonValue | undefined>(
    (at, step) => (at as Record<string | number, JsonValue | undefined> | undefined)?.[step],
    value,
  );
}

function isEmpty(value: JsonValue): boolean {
  return isJsonObject(value) && Object.keys(value).length === 0;
}

/** Whether a live value has what is declared; the server may have filled in more. */
function includes(live: JsonValue | undefined, declared: JsonValue | undefined): boolean {
  if (isJsonObject(live) && isJsonObject(declared)) {
    return Object.entries(declared).every(([name, value]) => includes(live[name], value));
  }
  if (Array.isArray(live) && Array.isArray(declared)) {
    return live.length === declared.length && declared.every((value, index) => includes(live[index], value));
  }
  // An API server leaves out what has the zero value of its type.
  return jsonEquals(live, declared) || (live === undefined && [false, 0, ''].some((zero) => zero === declared));
}
