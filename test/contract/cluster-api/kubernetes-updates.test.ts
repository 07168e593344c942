import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { KubeRefusal } from '../../../src/adapters/kubernetes/api/types.ts';
import { metadataOf, objectRefOf } from '../../../src/model/objects/object-key.ts';
import {
  REPLACE,
  replacementOf,
  type UpdateOutlook,
  updateOutlook,
} from '../../../src/model/objects/updates/update-outlook.ts';
import { type FieldChange, fieldDiff, MASKED } from '../../../src/model/text/field-diff.ts';
import { parseFieldPath } from '../../../src/model/text/field-path.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonEquals } from '../../../src/model/text/json.ts';
import { must } from '../../../src/model/values/result.ts';
import type { ClusterApi } from '../../../src/ports/cluster-api.ts';
import '../../support/generated-cases.ts';
import { type ControlPlane, startControlPlane } from '../../support/kubernetes/control-plane.ts';
import { UPDATE_MEMBERS } from '../../support/kubernetes/update-members.ts';
import { pairs } from '../../support/kubernetes/update-pairs.ts';
import { noProgram } from '../../support/programs.ts';
import { createKubernetesWorld, type KubernetesWorld } from './kubernetes-harness.ts';
import { keyOf, request } from './suite.ts';

describe.skipIf(noProgram('kube-apiserver'))('updates on a Kubernetes cluster', () => {
  let plane: ControlPlane;
  let world: KubernetesWorld;
  let cluster: ClusterApi;
  /** Of the applies that were sent. */
  const refusals: KubeRefusal[] = [];
  beforeAll(async () => {
    plane = await startControlPlane();
  });
  afterAll(() => plane?.stop());
  beforeEach(async () => {
    world = await createKubernetesWorld(plane);
    cluster = await world.begin({
      through: (client) => ({
        ...client,
        request: async (sent) => {
          const answer = await client.request(sent);
          if (answer.type === 'refused' && sent.method === 'PATCH' && sent.query?.dryRun === undefined)
            refusals.push(answer.refusal);
          return answer;
        },
      }),
    });
  });
  afterEach(() => world.close());

  const live = (value: JsonObject): Promise<JsonObject> => {
    const { group, kind, name, namespace } = objectRefOf(keyOf(value));
    const place = namespace === '' ? [] : ['-n', namespace];
    return plane.get(`${kind}${group === '' ? '' : `.${group}`}`, name, ...place);
  };

  test('random pairs of manifests end as they are planned', { timeout: 1_200_000 }, async () => {
    await plane.kubectl(['create', 'serviceaccount', 'robot', '-n', world.web]);
    const wrong: string[] = [];
    let judged = 0;
    for (const [round, pair] of fc.sample(pairs, { numRuns: ROUNDS }).entries()) {
      const [before, after] = pair.map((manifest): JsonObject => {
        const name = `${String(manifest.kind).toLowerCase()}-${round}`;
        return { ...manifest, metadata: { name, namespace: world.web, ...replaceOf(round) } };
      }) as [JsonObject, JsonObject];
      if (!(await isJudged(before, after, wrong))) continue;
      judged += 1;
    }
    expect(wrong).toEqual([]);
    expect(judged).toBeGreaterThan(ROUNDS / 2);
  });

  test.each(UPDATE_MEMBERS.map((each) => [each.kind, each] as const))(
    'each version of %s is updated to each other one as it is planned',
    { timeout: 600_000 },
    async (kind, { apiVersion, versions, isClusterScoped, nameOf }) => {
      const wrong: string[] = [];
      let judged = 0;
      for (const [from, older] of versions.entries()) {
        for (const [to, newer] of versions.entries()) {
          if (from === to) continue;
          const name = nameOf?.(from, to) ?? `${kind.toLowerCase()}-${world.web}-${from}-${to}`;
          const place = isClusterScoped === true ? {} : { namespace: world.web };
          const metadata = { name, ...place, ...replaceOf(from + to) };
          const [before, after] = [older, newer].map((each) => ({ apiVersion, kind, ...each, metadata }));
          if (before === undefined || after === undefined) throw new Error('no pair');
          if (await isJudged(before, after, wrong)) judged += 1;
        }
      }
      expect(wrong).toEqual([]);
      expect(judged).toBeGreaterThan(0);
    },
  );

  /** False: a combination is no object at all. */
  async function isJudged(before: JsonObject, after: JsonObject, wrong: string[]): Promise<boolean> {
    if ((await world.preview(request(after))).type !== 'create') return false;
    if ((await cluster.apply(request(before))).type !== 'applied') return false;
    const found = await difference(before, after);
    if (found !== undefined) wrong.push(`${found}: ${JSON.stringify(before)} -> ${JSON.stringify(after)}`);
    const { kind, namespace, name } = objectRefOf(keyOf(after));
    await plane.kubectl([
      'delete',
      kind,
      name,
      '--wait=false',
      '--ignore-not-found',
      ...(namespace === '' ? [] : ['-n', namespace]),
    ]);
    return true;
  }

  /** What is otherwise than planned; undefined: nothing. */
  async function difference(before: JsonObject, after: JsonObject): Promise<string | undefined> {
    const changes = fieldDiff(before, after);
    const planned = updateOutlook(objectRefOf(keyOf(before)), before, after, changes);
    const { uid } = metadataOf(await live(before));
    refusals.length = 0;
    const outcome = await cluster.apply(request(after));
    const fields = refusals.flatMap(({ causes }) => causes.map(({ field }) => fieldOf(field)));
    if (planned.refused.length === 0) {
      if (outcome.type === 'failed' || fields.length > 0) return `refused (${fields}): ${JSON.stringify(outcome)}`;
      return unlikePlanned(after, changes, planned);
    }
    if (fields.length === 0) return `taken, ${planned.refused} planned to be refused`;
    if (!isAlike(fields, planned.refused.map(fieldOf))) return `refused: ${fields}, planned: ${planned.refused}`;
    if (replacementOf(keyOf(after), after) !== 'replaces') {
      const reason = outcome.type === 'failed' ? outcome.reason : outcome.type;
      return reason === 'ImmutableField' ? undefined : `not told as immutable: ${JSON.stringify(outcome)}`;
    }
    // What a controller must let go first is deleted and not gone.
    if (outcome.type === 'failed' && outcome.reason === 'BeingReplaced') return undefined;
    if (outcome.type !== 'applied') return `not replaced: ${JSON.stringify(outcome)}`;
    return metadataOf(await live(after)).uid === uid ? 'planned to be replaced, and is the same object' : undefined;
  }

  /** Which value of an object that was taken is otherwise than planned; undefined: none. */
  async function unlikePlanned(
    after: JsonObject,
    changes: readonly FieldChange[],
    planned: UpdateOutlook,
  ): Promise<string | undefined> {
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

/** Refusals name some fields in another way, or another field that changes with them. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  nodeAffinity: 'spec.nodeAffinity',
  'spec.attachedRequired': 'spec.attachRequired',
  'spec.clusterIPs': 'spec.clusterIP',
  'spec.clusterIPs[0]': 'spec.clusterIP',
  'spec.persistentvolumesource': 'spec',
  'spec.podCIDR': 'spec.podCIDRs',
  'spec.podReplacementPolicy': 'spec.podFailurePolicy',
  'spec.strategy.rollingUpdate': 'spec.strategy',
  'spec.updateStrategy.rollingUpdate': 'spec.updateStrategy',
  volumeMode: 'spec.volumeMode',
};

function fieldOf(name: string): string {
  return OTHER_NAMES[name] ?? name;
}

/** A third of the pairs lets the agent make a new object. */
function replaceOf(round: number): JsonObject {
  return round % 3 === 0 ? { annotations: { [REPLACE]: 'true' } } : {};
}

/** Whether each of these fields is one of the others, or is above or below one. */
function isAlike(some: readonly string[], others: readonly string[]): boolean {
  const isWithin = (one: string, other: string) =>
    one === other || /^[.[]/.test(other.startsWith(one) ? other.slice(one.length) : '');
  const isIn = (one: string, all: readonly string[]) =>
    all.some((other) => isWithin(one, other) || isWithin(other, one));
  return some.every((one) => isIn(one, others)) && others.every((one) => isIn(one, some));
}

/** Of the generated pairs. */
const ROUNDS = 600;

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
    // Admission adds tolerations to a Pod.
    const isComplete =
      live.length === declared.length || declared.some((each) => isJsonObject(each) && each.operator !== undefined);
    return isComplete && declared.every((value, index) => includes(live[index], value));
  }
  // An API server leaves out what has the zero value of its type.
  return jsonEquals(live, declared) || (live === undefined && [false, 0, ''].some((zero) => zero === declared));
}
