import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { displayPath } from '../../../../../src/model/field-path.ts';
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

it('warns of what is written twice, unless the second value uses the first', () => {
  const spec = `
imagePullSecrets: [{ name: a }, { name: a }]
hostAliases: [{ ip: 10.0.0.1 }, { ip: 10.0.0.2 }, { ip: 10.0.0.1 }]
containers:
  - name: a
    image: a:1
    ports: [{ name: http, containerPort: 80 }]
    env:
      - { name: PATHS, value: /a }
      - { name: PATHS, value: "$(PATHS):/b" }
      - { name: LEVEL, value: info }
      - { name: LEVEL, value: debug }
  - { name: b, image: "b:1", ports: [{ name: http, containerPort: 81 }] }`;
  expect(warningsOf(spec)).toEqual([
    'DuplicateName spec.imagePullSecrets[1].name',
    'DuplicateName spec.hostAliases[2].ip',
    'DuplicateName spec.containers[0].env[3].name',
    'DuplicateName spec.containers[1].ports[0].name',
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
