import { describe, expect, it } from 'vitest';
import { displayPath } from '../../../src/model/text/field-path.ts';
import type { JsonObject } from '../../../src/model/text/json.ts';
import { createObjectCheck } from '../../../src/validation/check-object.ts';
import { createKindTable } from '../../../src/validation/kind-table.ts';
import { openKubernetesSchemas } from '../../../src/validation/kubernetes-schemas.ts';
import type { ObjectCheck } from '../../../src/validation/values/schema.ts';

const kubernetes = await openKubernetesSchemas('1.36');
const oldest = await openKubernetesSchemas('1.33');
const check = createObjectCheck({ kubernetes });

const deployment = (spec: JsonObject = {}): JsonObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'web:1' }] } },
    ...spec,
  },
});

/** `SEVERITY REASON PATH` of each problem, with `key` where the problem is at the key. */
function found(object: JsonObject, by: ObjectCheck = check): readonly string[] {
  return by(object).map(({ severity, reason, path, atKey }) =>
    [severity, reason, path.join('.'), ...(atKey === true ? ['key'] : [])].join(' '),
  );
}

describe('the check of objects of built-in kinds', () => {
  it('finds nothing in a valid object', () => {
    expect(check(deployment({ replicas: 3 }))).toEqual([]);
  });

  it('reports what the schema does not allow, at the value', () => {
    expect(found(deployment({ replicas: 'three', replica: 1 }))).toEqual([
      'error WrongType spec.replicas',
      'error UnknownField spec.replica key',
    ]);
  });

  it('reports a missing field once, and nothing of the fields of a value of another type', () => {
    const rules = [{ apiGroups: ['apps'], apiVersions: ['v1'], resources: ['deployments'] }];
    const policy = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'replicas' },
      spec: { matchConstraints: { resourceRules: rules }, validations: [{ expression: 'true' }] },
    };
    expect(check(policy).map(({ message }) => message)).toEqual([
      'spec.matchConstraints.resourceRules[0].operations is missing',
    ]);
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec: { containers: ['nginx'] } };
    expect(found(pod)).toEqual(['error WrongType spec.containers.0']);
  });

  it('says which field was meant', () => {
    expect(check(deployment({ Replicas: 1 }))[0]?.hint).toBe('did you mean replicas?');
    expect(check({ ...deployment(), replicas: 1 })[0]?.hint).toBe('did you mean spec.replicas?');
  });

  it('refuses a field that is newer than the version', () => {
    const old = createObjectCheck({ kubernetes: oldest });
    const spec = { containers: [{ name: 'a', image: 'a' }], hostnameOverride: 'a' };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec };
    expect(found(pod)).toEqual([]);
    expect(found(pod, old)).toEqual(['error UnknownField spec.hostnameOverride key']);
  });

  it('does not quote values of a Secret', () => {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' }, data: { key: 'hunter2!' } };
    const [problem] = check(secret);
    expect(problem?.reason).toBe('WrongFormat');
    expect(JSON.stringify(problem)).not.toContain('hunter2');
  });

  it('warns of a namespace of a kind without namespaces', () => {
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { namespace: 'a' } };
    expect(found(role)).toContain('warning NamespaceNotUsed metadata.namespace key');
  });

  it('demands nothing of a status, which an API server leaves out', () => {
    expect(found({ ...deployment(), status: { conditions: [{}], nothing: 1 } })).toEqual([
      'error UnknownField status.nothing key',
    ]);
  });
});

describe('API versions', () => {
  const of = (apiVersion: string, kind: string, by: ObjectCheck = check) =>
    by({ apiVersion, kind, metadata: { name: 'a' } }).map(
      ({ severity, reason, path, hint }) => `${severity} ${reason} ${path.join('.')}: ${hint}`,
    );

  it('refuses a removed one and names its replacement', () => {
    expect(of('extensions/v1beta1', 'Ingress')).toEqual([
      'error RemovedApiVersion apiVersion: write networking.k8s.io/v1',
    ]);
    expect(of('policy/v1beta1', 'PodSecurityPolicy')).toEqual([
      'error RemovedApiVersion apiVersion: write labels of Pod Security Admission on the namespace',
    ]);
  });

  it('warns of a deprecated one from the version on that deprecates it', () => {
    const old = createObjectCheck({ kubernetes: oldest });
    expect(of('networking.k8s.io/v1beta1', 'ServiceCIDR')).toContain(
      'warning DeprecatedApiVersion apiVersion: write networking.k8s.io/v1',
    );
    expect(of('networking.k8s.io/v1beta1', 'ServiceCIDR', old).join()).not.toContain('Deprecated');
  });

  it('refuses a version or kind that a group of Kubernetes does not have', () => {
    expect(of('apps/v2', 'Deployment')).toEqual(['error NoSuchKind apiVersion: write apps/v1']);
    expect(of('apps/v1', 'Deploymnt')).toEqual(['error NoSuchKind kind: did you mean Deployment?']);
    expect(of('v1', 'Deployment')).toEqual(['error NoSuchKind kind: Deployment is in apps/v1']);
  });

  it('with the name of a member of every object is like any other unknown one', () => {
    const object = { apiVersion: 'constructor', kind: 'constructor', metadata: { name: 'a' } };
    expect(found(object)).toEqual(['error NoSuchKind kind']);
  });
});

describe('a fault of the identity hides no other fault if only one kind can be meant', () => {
  const metadata = { name: 'a' };
  const reasons = (object: JsonObject) =>
    createObjectCheck({ kubernetes })(object).map(({ reason, path }) => `${reason} ${displayPath(path)}`);

  it.each([
    [{ apiVersion: 'apps/v1', kind: 'deployment', metadata, spec: { selectr: {} } }, 'UnknownField spec.selectr'],
    [{ apiVersion: 'Apps/v1', kind: 'DaemonSet', metadata, spec: { foo: 1 } }, 'UnknownField spec.foo'],
    [{ kind: 'Pod', metadata, spec: { containers: [], foo: 1 } }, 'UnknownField spec.foo'],
  ])('%#', (object, wanted) => expect(reasons(object)).toContain(wanted));

  it.each([
    ['an Event is in two groups', { kind: 'Event', metadata, foo: 1 }, []],
    [
      'another group may have the kind',
      { apiVersion: 'example.com/v1', kind: 'Deployment', metadata, foo: 1 },
      ['NoSchema kind'],
    ],
    ['the group is stated', { apiVersion: 'apps/v1', kind: 'Ingress', metadata, foo: 1 }, ['NoSuchKind kind']],
  ])('%s', (_, object, wanted) => {
    expect(reasons(object).filter((each) => !each.startsWith('MissingField apiVersion'))).toEqual(wanted);
  });
});

describe('a Pod', () => {
  const found = (spec: JsonObject) => {
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec };
    return createObjectCheck({ kubernetes })(pod).map(
      ({ severity, reason, path }) => `${severity} ${reason} ${displayPath(path)}`,
    );
  };

  it('gets one warning of each entry that repeats the key of another', () => {
    const spec = {
      imagePullSecrets: [{ name: 'a' }, { name: 'a' }],
      hostAliases: [{ ip: '10.0.0.1' }, { ip: '10.0.0.1' }],
      containers: [
        {
          name: 'a',
          image: 'a:1',
          env: [
            { name: 'A', value: '1' },
            { name: 'A', value: '2' },
          ],
        },
      ],
    };
    expect(found(spec).sort()).toEqual([
      'warning DuplicateName spec.containers[0].env[1].name',
      'warning DuplicateName spec.imagePullSecrets[1].name',
      'warning DuplicateValue spec.hostAliases[1].ip',
    ]);
  });

  it('gets no suggestion that it cannot use', () => {
    const spec = { resources: { limits: { 'ephemeral-storage': '1Gi' } }, containers: [{ name: 'a', image: 'a:1' }] };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec };
    const [problem] = createObjectCheck({ kubernetes })(pod);
    expect([problem?.reason, problem?.hint]).toEqual(['BadResource', undefined]);
  });
});

describe('custom kinds', () => {
  const custom = createKindTable([
    {
      ...{ group: 'example.com', version: 'v1', kind: 'Gadget', plural: 'gadgets', namespaced: true },
      definition: () => undefined,
      schema: () => ({
        type: 'object',
        properties: { spec: { type: 'object', required: ['size'], properties: { size: { type: 'integer' } } } },
      }),
    },
  ]);
  const withCustom = createObjectCheck({ kubernetes, custom: [custom] });
  const gadget = (spec: JsonObject, metadata: JsonObject = {}): JsonObject => ({
    ...{ apiVersion: 'example.com/v1', kind: 'Gadget', metadata: { name: 'a', ...metadata }, spec },
  });

  it('are checked against their schema and the metadata of every object', () => {
    expect(found(gadget({ size: 1 }), withCustom)).toEqual([]);
    expect(found(gadget({ size: '1', sise: 1 }, { nam: 'a' }), withCustom)).toEqual([
      'error WrongType spec.size',
      'error UnknownField spec.sise key',
      'error UnknownField metadata.nam key',
    ]);
  });

  it('without a schema are a warning, an error or nothing', () => {
    const strict = createObjectCheck({ kubernetes, withoutSchema: 'error' });
    const silent = createObjectCheck({ kubernetes, withoutSchema: 'nothing' });
    expect(found(gadget({}))).toEqual(['warning NoSchema kind']);
    expect(found(gadget({}), strict)).toEqual(['error NoSchema kind']);
    expect(found(gadget({}), silent)).toEqual([]);
  });

  it('of a version that their definition lacks are refused', () => {
    const other = { ...gadget({ size: 1 }), apiVersion: 'example.com/v2' };
    expect(withCustom(other)[0]?.hint).toBe('write example.com/v1');
  });
});
