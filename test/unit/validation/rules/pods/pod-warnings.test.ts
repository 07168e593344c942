import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { displayPath } from '../../../../../src/model/text/field-path.ts';
import { rules } from '../../../../../src/validation/rules/rules.ts';

/** The warnings of a Pod, as `REASON PATH`. An API server 1.36 accepts all of these Pods. */
function warningsOf(spec: string, metadata = 'name: web'): readonly string[] {
  const pod = parse(`apiVersion: v1\nkind: Pod\nmetadata:\n  ${metadata}\nspec:\n${spec.replaceAll(/^/gm, '  ')}`);
  const problems = rules['/Pod']?.(pod) ?? [];
  expect(problems.filter(({ severity }) => severity === 'error')).toEqual([]);
  return problems.map(({ reason, path }) => `${reason} ${displayPath(path)}`);
}

const WEB = 'containers: [{ name: web, image: web:1 }]';

it('warns of deprecated labels, annotations and volumes', () => {
  const labels = `${WEB}
nodeSelector: { beta.kubernetes.io/os: linux, kubernetes.io/arch: arm64 }
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms: [{ matchExpressions: [{ key: failure-domain.beta.kubernetes.io/zone, operator: Exists }] }]`;
  expect(warningsOf(labels)).toEqual([
    'DeprecatedField spec.nodeSelector["beta.kubernetes.io/os"]',
    'DeprecatedField spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key',
  ]);
  const annotated = 'name: web\n  annotations: { scheduler.alpha.kubernetes.io/critical-pod: "" }';
  expect(warningsOf(`${WEB}\nvolumes: [{ name: a, rbd: { monitors: [a], image: b } }]`, annotated)).toEqual([
    'DeprecatedField spec.volumes[0].rbd',
    'DeprecatedField metadata.annotations["scheduler.alpha.kubernetes.io/critical-pod"]',
  ]);
});

it('warns of names that are no host names, and of annotations that a field replaces', () => {
  const metadata =
    'name: web.v1\n  annotations: { container.apparmor.security.beta.kubernetes.io/web: runtime/default }';
  expect(warningsOf(WEB, metadata)).toEqual([
    'BadName metadata.name',
    'DeprecatedField metadata.annotations["container.apparmor.security.beta.kubernetes.io/web"]',
  ]);
});

it('warns of rules for Pods without a selector', () => {
  const spec = `${WEB}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: { topologyKey: zone } }]
topologySpreadConstraints:
  - { maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway }
  - { maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {} }`;
  const at = 'spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm';
  expect(warningsOf(spec)).toEqual([
    'SelectsNothing spec.topologySpreadConstraints[0].labelSelector',
    `SelectsNothing ${at}.labelSelector`,
  ]);
});

it('warns of a port name that two containers have', () => {
  const spec = `
containers:
  - { name: a, image: "a:1", ports: [{ name: http, containerPort: 80 }] }
  - { name: b, image: "b:1", ports: [{ name: http, containerPort: 81 }] }`;
  expect(warningsOf(spec)).toEqual(['DuplicateName spec.containers[1].ports[0].name']);
});

/** Clusters with other PriorityClasses, RuntimeClasses or feature gates accept these Pods. */
it('warns of what default admission refuses, and of values behind feature gates that are off', () => {
  expect(warningsOf(`${WEB}\npriority: 5\noverhead: { cpu: 1 }`)).toEqual([
    'FieldNotAllowed spec.priority',
    'FieldNotAllowed spec.overhead',
  ]);
  const named = 'priority: 2000000000\npriorityClassName: system-cluster-critical\nruntimeClassName: kata';
  expect(warningsOf(`${WEB}\n${named}\noverhead: { cpu: 1 }`)).toEqual([]);
  expect(warningsOf(`${WEB}\npriority: 0\noverhead: {}`)).toEqual([]);
  const gated = `tolerations: [{ key: a, operator: Gt, value: "1" }, { key: a, operator: Exists }]
securityContext: { seLinuxChangePolicy: MountOption }`;
  expect(warningsOf(`${WEB}\n${gated}`)).toEqual([
    'WrongValue spec.tolerations[0].operator',
    'WrongValue spec.securityContext.seLinuxChangePolicy',
  ]);
});

it('warns of bytes in thousandths, of unknown port names and of a negative grace period', () => {
  const spec = `
terminationGracePeriodSeconds: -1
containers:
  - name: web
    image: web:1
    resources: { limits: { memory: 512m } }
    livenessProbe: { httpGet: { port: http } }`;
  expect(warningsOf(spec)).toEqual([
    'BadResource spec.containers[0].resources.limits.memory',
    'UnknownReference spec.containers[0].livenessProbe.httpGet.port',
    'WrongValue spec.terminationGracePeriodSeconds',
  ]);
});
