import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { displayPath } from '../../../../src/model/text/field-path.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../../src/model/text/json.ts';
import { createReferenceCheck } from '../../../../src/validation/across-files/check-references.ts';
import { indexDeclared } from '../../../../src/validation/across-files/declared.ts';
import { factsOf } from '../../../../src/validation/across-files/facts.ts';

function objectsIn(text: string): readonly JsonObject[] {
  return text.split(/^---$/m).map((each) => {
    const object = load(each) as JsonValue;
    if (!isJsonObject(object)) throw new Error('no object');
    return object;
  });
}

/** What is found in the documents of one file, as `code path: message (hint)`. */
function found(text: string, { isPartial = false } = {}): readonly string[] {
  const objects = objectsIn(text);
  const facts = objects.flatMap((object) => factsOf(object) ?? []);
  const check = createReferenceCheck(indexDeclared([{ path: 'a.yaml', facts }]), { isPartial });
  return objects.flatMap((object) => {
    const problems = check.problemsOf(object);
    const own = factsOf(object);
    expect(own !== undefined && check.isSuspect(own)).toBe(problems.length > 0);
    return problems.map(
      ({ reason, path, message, hint = '' }) => `${reason} ${displayPath(path)}: ${message} (${hint})`,
    );
  });
}

const object = (kind: string, name: string, more = ''): string => {
  const version = KINDS[kind] ?? 'v1';
  return `apiVersion: ${version}\nkind: ${kind}\nmetadata: {name: ${name}, namespace: shop}\n${more}`;
};
const KINDS: Readonly<Record<string, string>> = {
  Deployment: 'apps/v1',
  StatefulSet: 'apps/v1',
  Ingress: 'networking.k8s.io/v1',
  NetworkPolicy: 'networking.k8s.io/v1',
  PodDisruptionBudget: 'policy/v1',
  HorizontalPodAutoscaler: 'autoscaling/v2',
  Role: 'rbac.authorization.k8s.io/v1',
  RoleBinding: 'rbac.authorization.k8s.io/v1',
};
const pod = (spec: string): string => object('Pod', 'web', `spec: ${spec}`);
const files = (...texts: readonly string[]): string => texts.join('\n---\n');

const settings = object('ConfigMap', 'settings', 'data: {colour: red, size: "1"}');
const token = object('Secret', 'token', 'stringData: {token: hidden}');

describe('a Pod that refers to what no document declares', () => {
  it.each([
    [
      'env',
      '{containers: [{env: [{valueFrom: {configMapKeyRef: {name: setings, key: colour}}}]}]}',
      'UnknownConfigMap spec.containers[0].env[0].valueFrom.configMapKeyRef.name: no document that was read declares ConfigMap shop/setings (did you mean settings?)',
    ],
    [
      'a key',
      '{containers: [{env: [{valueFrom: {configMapKeyRef: {name: settings, key: color}}}]}]}',
      'UnknownConfigMapKey spec.containers[0].env[0].valueFrom.configMapKeyRef.key: ConfigMap shop/settings in a.yaml has no key color, but colour, size (did you mean colour?)',
    ],
    [
      'a key of a Secret',
      '{initContainers: [{env: [{valueFrom: {secretKeyRef: {name: token, key: tken}}}]}]}',
      'UnknownSecretKey spec.initContainers[0].env[0].valueFrom.secretKeyRef.key: Secret shop/token in a.yaml has no key tken, but token (did you mean token?)',
    ],
    [
      'envFrom',
      '{containers: [{envFrom: [{secretRef: {name: toke}}]}]}',
      'UnknownSecret spec.containers[0].envFrom[0].secretRef.name: no document that was read declares Secret shop/toke (did you mean token?)',
    ],
    [
      'a volume',
      '{volumes: [{secret: {secretName: other}}]}',
      'UnknownSecret spec.volumes[0].secret.secretName: no document that was read declares Secret shop/other ()',
    ],
    [
      'an item of a volume',
      '{volumes: [{configMap: {name: settings, items: [{key: size}, {key: sizes}]}}]}',
      'UnknownConfigMapKey spec.volumes[0].configMap.items[1].key: ConfigMap shop/settings in a.yaml has no key sizes, but colour, size (did you mean size?)',
    ],
    [
      'a projected volume',
      '{volumes: [{projected: {sources: [{configMap: {name: x}}]}}]}',
      'UnknownConfigMap spec.volumes[0].projected.sources[0].configMap.name: no document that was read declares ConfigMap shop/x ()',
    ],
    [
      'imagePullSecrets',
      '{imagePullSecrets: [{name: registry}]}',
      'UnknownSecret spec.imagePullSecrets[0].name: no document that was read declares Secret shop/registry ()',
    ],
    [
      'its account',
      '{serviceAccountName: web}',
      'UnknownServiceAccount spec.serviceAccountName: no document that was read declares ServiceAccount shop/web ()',
    ],
    [
      'a claim',
      '{volumes: [{persistentVolumeClaim: {claimName: data}}]}',
      'UnknownVolumeClaim spec.volumes[0].persistentVolumeClaim.claimName: no document that was read declares PersistentVolumeClaim shop/data ()',
    ],
    [
      'its priority',
      '{priorityClassName: high}',
      'UnknownPriorityClass spec.priorityClassName: no document that was read declares PriorityClass high ()',
    ],
  ])('by %s', (_name, spec, problem) => {
    expect(found(files(settings, token, pod(spec)))).toEqual([problem]);
  });

  it.each([
    [
      'an optional reference',
      '{containers: [{envFrom: [{configMapRef: {name: x, optional: true}}]}], volumes: [{secret: {secretName: x, optional: true}}]}',
    ],
    [
      'what every namespace has',
      '{serviceAccountName: default, volumes: [{configMap: {name: kube-root-ca.crt}}], priorityClassName: system-node-critical}',
    ],
    [
      'what is declared',
      '{containers: [{env: [{valueFrom: {secretKeyRef: {name: token, key: token}}}], envFrom: [{configMapRef: {name: settings}}]}]}',
    ],
    [
      'values of a wrong type',
      '{containers: [3, {env: 4}, {envFrom: [null, {configMapRef: {name: 5}}]}], volumes: {a: b}, serviceAccountName: [x]}',
    ],
  ])('not by %s', (_name, spec) => {
    expect(found(files(settings, token, pod(spec)))).toEqual([]);
  });

  it('in a template of any depth', () => {
    const job = object(
      'CronJob',
      'c',
      'spec: {jobTemplate: {spec: {template: {spec: {serviceAccountName: a}}}}}',
    ).replace('v1', 'batch/v1');
    expect(found(job)).toEqual([
      'UnknownServiceAccount spec.jobTemplate.spec.template.spec.serviceAccountName: no document that was read declares ServiceAccount shop/a ()',
    ]);
  });

  it('unless files that were not read may declare it; a key is missing in any case', () => {
    const spec = '{serviceAccountName: web, volumes: [{configMap: {name: settings, items: [{key: x}]}}]}';
    expect(found(files(settings, pod(spec)), { isPartial: true })).toEqual([
      'UnknownConfigMapKey spec.volumes[0].configMap.items[0].key: ConfigMap shop/settings in a.yaml has no key x, but colour, size ()',
    ]);
  });

  it('unless another document of the same object has the key', () => {
    const spec = '{volumes: [{configMap: {name: settings, items: [{key: size}, {key: shape}]}}]}';
    const variant = object('ConfigMap', 'settings', 'data: {shape: round}');
    expect(found(files(settings, pod(spec)))).toHaveLength(1);
    expect(found(files(settings, variant, pod(spec)))).toEqual([]);
  });

  it('unless the namespace is not stated on one side', () => {
    const spec = pod('{serviceAccountName: web}');
    expect(found(files(spec, object('ServiceAccount', 'web').replace(', namespace: shop', '')))).toEqual([]);
    expect(found(files(spec.replace(', namespace: shop', ''), object('ServiceAccount', 'web')))).toEqual([]);
    expect(found(files(spec, object('ServiceAccount', 'web').replace('shop', 'other')))).toHaveLength(1);
  });
});

describe('what is made in the cluster counts as declared', () => {
  const uses = pod('{volumes: [{secret: {secretName: made}}]}');
  it.each([
    [
      'a Secret that a custom object names',
      'apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: e, namespace: shop}\nspec: {target: {name: made}}',
    ],
    [
      'a Secret with the name of a custom object',
      'apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: made, namespace: shop}',
    ],
    ['a certificate of an Ingress', object('Ingress', 'i', 'spec: {tls: [{secretName: made}]}')],
    [
      'a Secret that a Role may create',
      object('Role', 'r', 'rules: [{apiGroups: [""], resources: [secrets], verbs: [create]}]'),
    ],
  ])('%s', (_name, text) => {
    expect(found(uses)).toHaveLength(1);
    expect(found(files(uses, text))).toEqual([]);
    expect(found(files(uses, text.replaceAll('shop', 'other')))).toHaveLength(1);
  });

  it('a name that begins with the name of a custom object', () => {
    const database = 'apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: main, namespace: shop}';
    expect(found(files(pod('{volumes: [{secret: {secretName: main-app}}]}'), database))).toEqual([]);
  });

  it('a key of an empty ConfigMap, which another program fills', () => {
    const spec = pod('{volumes: [{configMap: {name: empty, items: [{key: x}]}}]}');
    expect(found(files(spec, object('ConfigMap', 'empty')))).toEqual([]);
  });
});

describe('references of other kinds', () => {
  const service = object('Service', 'web', 'spec: {ports: [{name: http, port: 80}]}');

  it('an Ingress: the Service, and its port by name or number', () => {
    const ingress = object(
      'Ingress',
      'i',
      `spec:
  defaultBackend: {service: {name: wbe, port: {number: 80}}}
  rules:
    - http: {paths: [{backend: {service: {name: web, port: {number: 8080}}}}, {backend: {service: {name: web, port: {name: http}}}}]}
    - http: {paths: [{backend: {service: {name: web, port: {name: https}}}}]}`,
    );
    expect(found(files(service, ingress))).toEqual([
      'UnknownService spec.defaultBackend.service.name: no document that was read declares Service shop/wbe (did you mean web?)',
      'UnknownServicePort spec.rules[0].http.paths[0].backend.service.port.number: Service shop/web in a.yaml has no port 8080, but 80, http ()',
      'UnknownServicePort spec.rules[1].http.paths[0].backend.service.port.name: Service shop/web in a.yaml has no port https, but 80, http (did you mean http?)',
    ]);
  });

  it('an autoscaler and a binding, but not a StatefulSet, which works without its Service', () => {
    const others = files(
      object('StatefulSet', 's', 'spec: {serviceName: db}'),
      object(
        'HorizontalPodAutoscaler',
        'h',
        'spec: {scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: t}}',
      ),
      object(
        'HorizontalPodAutoscaler',
        'r',
        'spec: {scaleTargetRef: {apiVersion: argoproj.io/v1, kind: Rollout, name: t}}',
      ),
      object(
        'RoleBinding',
        'b',
        'roleRef: {kind: Role, name: read}\nsubjects: [{kind: ServiceAccount, name: a}, {kind: User, name: u}, {kind: ServiceAccount, name: b, namespace: elsewhere}]',
      ),
      object('RoleBinding', 'c', 'roleRef: {kind: ClusterRole, name: view}'),
      object('RoleBinding', 'd', 'roleRef: {kind: ClusterRole, name: none}'),
    );
    expect(found(others).map((each) => each.slice(0, each.indexOf(':')))).toEqual([
      'UnknownScaleTarget spec.scaleTargetRef.name',
      'UnknownRole roleRef.name',
      'UnknownServiceAccount subjects[0].name',
      'UnknownRole roleRef.name',
    ]);
  });

  it('a webhook and an APIService', () => {
    const webhook = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: w}
webhooks: [{clientConfig: {service: {name: web, namespace: shop, port: 443}}}, {clientConfig: {url: "https://x"}}]`;
    const apiService = `apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.x}
spec: {service: {name: webs, namespace: shop}}`;
    expect(found(files(service, webhook, apiService)).map((each) => each.slice(0, each.indexOf(':')))).toEqual([
      'UnknownServicePort webhooks[0].clientConfig.service.port',
      'UnknownService spec.service.name',
    ]);
  });
});

describe('a selector that matches no Pod template of its namespace', () => {
  const deployment = object('Deployment', 'web', 'spec: {template: {metadata: {labels: {app: web, tier: front}}}}');
  it.each([
    [
      'a Service',
      object('Service', 's', 'spec: {selector: {app: wbe, tier: front}}'),
      'SelectsNoPods spec.selector.app: no Pod template of namespace shop has the label app: wbe, so nothing is selected (did you mean web?)',
    ],
    [
      'a PodDisruptionBudget',
      object('PodDisruptionBudget', 's', 'spec: {selector: {matchLabels: {app: wbe}}}'),
      'SelectsNoPods spec.selector.matchLabels.app: no Pod template of namespace shop has the label app: wbe, so nothing is selected (did you mean web?)',
    ],
    [
      'a NetworkPolicy',
      object('NetworkPolicy', 's', 'spec: {podSelector: {matchLabels: {application: web}}}'),
      'SelectsNoPods spec.podSelector: the selector matches no Pod template of namespace shop that was read ()',
    ],
  ])('%s', (_name, text, problem) => {
    expect(found(files(deployment, text))).toEqual([problem]);
    expect(found(text)).toEqual([]);
    expect(found(files(deployment.replace('shop', 'other'), text))).toEqual([]);
  });

  it.each([
    ['it matches', 'spec: {selector: {app: web}}'],
    ['it is empty', 'spec: {selector: {}}'],
    ['a controller adds the label', 'spec: {selector: {app: web, statefulset.kubernetes.io/pod-name: web-0}}'],
  ])('is no finding where %s', (_name, spec) => {
    expect(found(files(deployment, object('Service', 's', spec)))).toEqual([]);
  });

  it('is no finding where an object of a custom kind has its labels', () => {
    const prometheus = 'apiVersion: monitoring.coreos.com/v1\nkind: Prometheus\nmetadata: {name: k8s, namespace: shop}';
    expect(found(files(deployment, prometheus, object('Service', 's', 'spec: {selector: {app: k8s}}')))).toEqual([]);
  });
});

it('a ServiceMirror whose selector matches no declared Service', () => {
  const mirror = `apiVersion: fleetrelay.dev/v1alpha1
kind: ServiceMirror
metadata: {name: m}
spec: {serviceSelector: {matchLabels: {mirror: "yes"}}}`;
  const service = (value: string) => object('Service', 's').replace('shop}', `shop, labels: {mirror: "${value}"}}`);
  expect(found(files(service('yse'), mirror))).toEqual([
    'SelectsNoServices spec.serviceSelector.matchLabels.mirror: no Service has the label mirror: yes, so nothing is selected (did you mean yse?)',
  ]);
  expect(found(files(service('yes'), mirror))).toEqual([]);
  expect(found(mirror)).toEqual([]);
});

describe('the targetPort of a Service', () => {
  const service = object(
    'Service',
    'web',
    'spec: {selector: {app: web}, ports: [{name: a, port: 80, targetPort: htp}, {name: b, port: 81, targetPort: 8080}]}',
  );
  const deployment = (more = ''): string =>
    object(
      'Deployment',
      'web',
      `spec: {template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, ports: [{name: http, containerPort: 8080}]}]${more}}}}`,
    );

  it('is a name that no container of the selected Pods has', () => {
    expect(found(files(service, deployment()))).toEqual([
      'UnknownTargetPort spec.ports[0].targetPort: no container of the selected Pods has a port htp, but http (did you mean http?)',
    ]);
  });

  it.each([
    ['a sidecar has it', files(service, deployment(', initContainers: [{ports: [{name: htp}]}]'))],
    [
      'other Pods that are selected have it',
      files(
        service,
        deployment(),
        pod('{containers: [{ports: [{name: htp}]}]}').replace('{name: web,', '{name: other, labels: {app: web},'),
      ),
    ],
    ['no Pods are declared', service],
    [
      'a controller makes such Pods',
      files(service, deployment(), 'apiVersion: example.com/v1\nkind: Web\nmetadata: {name: web, namespace: shop}'),
    ],
  ])('is right where %s', (_why, text) => {
    expect(found(text)).toEqual([]);
  });

  it('says nothing while files are missing', () => {
    expect(found(files(service, deployment()), { isPartial: true })).toEqual([]);
  });
});
