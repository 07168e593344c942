import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KubeClient } from '../../../src/adapters/kubernetes/api/types.ts';
import { remediateConfiguration } from '../../../src/domains/care/model/remediate.ts';
import { problemOfWebhook } from '../../../src/model/objects/webhooks/problematic.ts';
import { type JsonObject, objectsOf } from '../../../src/model/text/json.ts';
import { type OwnNamespaces, openOwnNamespaces } from '../../support/kubernetes/own-namespaces.ts';
import { noProgram } from '../../support/programs.ts';

const RESOURCES: readonly (readonly [group: string, resources: readonly string[]])[] = [
  ['', ['pods', 'services', 'endpoints', 'configmaps']],
  ['', ['namespaces', 'namespaces/status', 'nodes']],
  ['', ['*']],
  ['*', ['*/*']],
  ['coordination.k8s.io', ['leases']],
  ['apps', ['deployments', 'deployments/scale']],
  ['rbac.authorization.k8s.io', ['clusterroles', 'roles']],
];
const SELECTORS: readonly JsonObject[] = [
  {},
  { objectSelector: { matchLabels: { team: 'web' } } },
  {
    namespaceSelector: { matchExpressions: [{ key: 'gardener.cloud/purpose', operator: 'NotIn', values: ['a', 'b'] }] },
  },
];

/** A webhook for each combination. */
function webhooks(): readonly JsonObject[] {
  const variants = RESOURCES.flatMap(([group, resources]) =>
    ['Fail', 'Ignore'].flatMap((failurePolicy) =>
      SELECTORS.map((selectors) => ({ group, resources, failurePolicy, selectors })),
    ),
  );
  return variants.map(({ group, resources, failurePolicy, selectors }, index) => ({
    ...{ name: `hook-${index}.example.com`, admissionReviewVersions: ['v1'], sideEffects: 'None', failurePolicy },
    ...selectors,
    timeoutSeconds: 30,
    clientConfig: { url: 'https://127.0.0.1:1/hook' },
    rules: [{ operations: ['CREATE', 'UPDATE'], apiGroups: [group], apiVersions: ['*'], resources }],
  }));
}

describe.skipIf(noProgram('kube-apiserver'))('remediated webhook configurations, judged by a real API server', () => {
  let namespaces: OwnNamespaces;
  let client: KubeClient;

  beforeAll(async () => {
    namespaces = await openOwnNamespaces();
    ({ client } = await namespaces.make());
  });
  afterAll(() => namespaces?.stop());

  /** Stores nothing: in force, these webhooks would stand in the way of other tests. */
  function create(plural: string, body: JsonObject) {
    const query = { dryRun: 'All', fieldValidation: 'Strict' };
    return client.request({ method: 'POST', path: `/apis/admissionregistration.k8s.io/v1/${plural}`, query, body });
  }

  it('it refuses a selector without values', async () => {
    const [first = {}] = webhooks();
    const namespaceSelector = { matchExpressions: [{ key: 'a', operator: 'NotIn', values: [] }] };
    const answer = await create('validatingwebhookconfigurations', {
      ...configuration('ValidatingWebhookConfiguration', []),
      webhooks: [{ ...first, namespaceSelector }],
    });
    expect(answer).toMatchObject({ type: 'refused' });
  });

  it.each([
    ['ValidatingWebhookConfiguration', 'validatingwebhookconfigurations'],
    ['MutatingWebhookConfiguration', 'mutatingwebhookconfigurations'],
  ])('a %s is accepted as it is, and has no problem as it was stored', async (kind, plural) => {
    const before = configuration(kind, webhooks());
    expect(objectsOf(before.webhooks).every((webhook) => problemOfWebhook(webhook) !== undefined)).toBe(true);
    const { configuration: remediated, changes } = remediateConfiguration(before);
    expect(changes.length).toBeGreaterThan(webhooks().length);
    const answer = await create(plural, remediated);
    if (answer.type !== 'ok') throw new Error(JSON.stringify(answer));
    expect(answer.body).toMatchObject(remediated);
    const stored = answer.body as JsonObject;
    expect(objectsOf(stored.webhooks).map(problemOfWebhook)).toEqual(webhooks().map(() => undefined));
    expect(remediateConfiguration(stored).changes).toEqual([]);
  });

  function configuration(kind: string, entries: readonly JsonObject[]): JsonObject {
    return { apiVersion: 'admissionregistration.k8s.io/v1', kind, metadata: { name: 'remediated' }, webhooks: entries };
  }
});
