import { describe, expect, it } from 'vitest';
import { agentManifests } from '../../src/compose/manifests/agent-manifests.ts';
import { isPolicy } from '../../src/compose/manifests/agent-policy.ts';
import { AGENT_ACCESS, type WritableNamespaces } from '../../src/compose/manifests/agent-rights.ts';
import { metadataOf } from '../../src/model/objects/object-key.ts';
import { type JsonObject, type JsonValue, objectOf, objectsOf, textOf } from '../../src/model/text/json.ts';

/**
 * What the manifests of an agent let its stolen ServiceAccount write, by RBAC alone. `processes/agent-rights.test.ts` shows the same,
 * and the policy, on an API server.
 */

const LIMITED = AGENT_ACCESS.filter((access) => access !== 'cluster-admin');
/** These cannot be limited by a Namespace, or run nothing. */
const HARMLESS = ['leases', 'events', 'pods/portforward'];

function manifestsFor(writable: WritableNamespaces, access: readonly string[]): readonly JsonObject[] {
  const place = {
    cluster: 'east',
    server: 'relay.example.com:9900',
    namespace: 'fleetrelay',
    image: 'fleetrelay:0.1.0',
  };
  return agentManifests({ ...place, writable, access, webhook: true });
}

/** `Namespace: verb group/resource` of each right to write; the Namespace is `*` if it is given everywhere. */
function writesOf(manifests: readonly JsonObject[]): readonly string[] {
  const isWriting = (verb: string): boolean => !['get', 'list', 'watch'].includes(verb);
  return manifests
    .filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole')
    .flatMap((role) =>
      objectsOf(role.rules).flatMap(({ apiGroups, resources, verbs, resourceNames }) =>
        namesOf(apiGroups).flatMap((group) =>
          namesOf(resources).flatMap((resource) =>
            namesOf(verbs)
              .filter(isWriting)
              .map((verb) => {
                const names = resourceNames === undefined ? '' : ` ${namesOf(resourceNames).join(',')}`;
                return `${metadataOf(role).namespace ?? '*'}: ${verb} ${group}/${resource}${names}`;
              }),
          ),
        ),
      ),
    );
}

function namesOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.map(textOf) : [];
}

describe('an agent that may write in the Namespace shop', () => {
  const everywhere = writesOf(manifestsFor(['shop'], LIMITED)).filter((right) => right.startsWith('*: '));

  it('writes everywhere only kinds without a Namespace', () => {
    const kinds = everywhere.filter((right) => !HARMLESS.some((kind) => right.endsWith(`/${kind}`)));
    expect([...new Set(kinds.map((right) => right.replace(/^\*: \w+ /, '')))].sort()).toEqual([
      '/namespaces shop',
      'admissionregistration.k8s.io/mutatingwebhookconfigurations',
      'admissionregistration.k8s.io/mutatingwebhookconfigurations fleetrelay-agent',
      'admissionregistration.k8s.io/validatingwebhookconfigurations',
      'apiextensions.k8s.io/customresourcedefinitions',
      'rbac.authorization.k8s.io/clusterrolebindings',
      'rbac.authorization.k8s.io/clusterroles',
    ]);
  });

  it('writes in kube-system nothing, and in its own Namespace no workload', () => {
    const writes = writesOf(manifestsFor(['shop'], LIMITED));
    expect(writes.filter((right) => right.startsWith('kube-system: '))).toEqual([
      'kube-system: create /pods/portforward',
    ]);
    expect(writes.filter((right) => right.startsWith('fleetrelay: ') && /apps|batch|pods/.test(right))).toEqual([]);
    expect(writes).toContain('shop: create apps/deployments');
    expect(writes.some((right) => right.startsWith('fleetrelay-server: '))).toBe(false);
  });
});

it.each([
  [['shop'] as const, 'Role shop fleetrelay-agent-apply'],
  ['all' as const, 'ClusterRole  fleetrelay-agent-apply'],
])(
  'an agent that may write in %s may list events there, which say whether an autoscaler adds nodes for a Pod',
  (writable, role) => {
    const found = manifestsFor(writable, []).filter(({ rules }) =>
      objectsOf(rules).some(
        ({ apiGroups, resources, verbs }) =>
          namesOf(apiGroups).includes('') && namesOf(resources).includes('events') && namesOf(verbs).join() === 'list',
      ),
    );
    expect(
      found.map((each) => `${each.kind} ${textOf(metadataOf(each).namespace)} ${textOf(metadataOf(each).name)}`),
    ).toEqual([role]);
  },
);

describe.each([[['shop']], ['all']] as const)('an agent that may write in %s', (writable) => {
  it('has no way into Pods, no tokens, no escalation and no right to policies', () => {
    const writes = writesOf(manifestsFor(writable, LIMITED)).join('\n');
    expect(writes).not.toMatch(/pods\/exec|pods\/attach|ephemeralcontainers|serviceaccounts\/token|admissionpolic/);
    expect(writes).not.toMatch(/: (escalate|bind|impersonate) |: \w+ \*\/| \/pods$/m);
  });

  it('is judged by a policy, unless it is an administrator', () => {
    const [policy, binding] = manifestsFor(writable, LIMITED).filter(isPolicy);
    const { matchConditions, failurePolicy } = objectOf(policy?.spec);
    expect(objectsOf(matchConditions).map(({ expression }) => expression)).toEqual([
      "request.userInfo.username.matches('^system:serviceaccount:[^:]+:fleetrelay-agent$')",
    ]);
    expect(failurePolicy).toBe('Fail');
    expect(binding?.spec).toEqual({ policyName: metadataOf(policy ?? {}).name, validationActions: ['Deny'] });
    expect(manifestsFor(writable, ['cluster-admin']).filter(isPolicy)).toEqual([]);
  });
});
