import { describe, expect, it } from 'vitest';
import { displayDiagnostic } from '../../../src/model/fleet/diagnostic.ts';
import { diagnosticsOfCase, validationCases } from '../../support/validation-corpus.ts';

const cases = new Map(validationCases('refused').map((each) => [each.name, each]));

/** The findings of a case of the corpus, without the name of the file. */
function findingsOf(name: string): readonly string[] {
  const found = cases.get(name);
  if (found === undefined) throw new Error(`the corpus has no ${name}`);
  return diagnosticsOfCase(found).map((diagnostic) => displayDiagnostic(diagnostic).replace(/^case\.yaml:/, ''));
}

const unknown = (place: string, field: string, hint: string): readonly string[] => [
  `${place}: error: ${field} is not a field that is known here (${hint})`,
];

describe('a field in a wrong place, or with a wrong name, is one finding that names the right one', () => {
  it.each([
    ['workloads/image-not-indented', '17:7', 'spec.template.spec.image', 'did you mean containers[].image?'],
    ['workloads/ports-beside-containers', '18:7', 'spec.template.spec.ports', 'did you mean containers[].ports?'],
    ['workloads/containers-beside-template', '14:3', 'spec.containers', 'did you mean template.spec.containers?'],
    ['workloads/strategy-in-template', '15:7', 'spec.template.spec.strategy', 'did you mean spec.strategy?'],
    ['workloads/template-labels-not-indented', '11:5', 'spec.template.labels', 'did you mean metadata.labels?'],
    ['workloads/selector-without-match-labels', '8:5', 'spec.selector.app', 'did you mean matchLabels.app?'],
    ['workloads/update-strategy-in-deployment', '7:3', 'spec.updateStrategy', 'did you mean strategy?'],
    ['workloads/replicas-in-metadata', '6:3', 'metadata.replicas', 'did you mean spec.replicas?'],
    ['metadata/match-labels-lower-case', '8:5', 'spec.selector.matchlabels', 'did you mean matchLabels?'],
    ['metadata/name-outside-metadata', '4:1', 'name', 'did you mean metadata.name?'],
    ['pods/volumes-in-container', '13:7', 'spec.containers[0].volumes', 'did you mean spec.volumes?'],
    [
      'pods/fs-group-in-container',
      '11:9',
      'spec.containers[0].securityContext.fsGroup',
      'did you mean spec.securityContext.fsGroup?',
    ],
    ['pods/env-from-key-ref', '11:11', 'spec.containers[0].envFrom[0].secretKeyRef', 'did you mean secretRef?'],
    [
      'pods/container-port-missing',
      '11:11',
      'spec.containers[0].ports[0].port',
      'known fields: containerPort, hostIP, hostPort, name, protocol; containerPort is missing',
    ],
    [
      'storage/claim-storage-not-in-requests',
      '9:5',
      'spec.resources.storage',
      'did you mean limits.storage or requests.storage?',
    ],
    [
      'jobs/cron-restart-policy-outside-pod',
      '8:3',
      'spec.restartPolicy',
      'did you mean jobTemplate.spec.template.spec.restartPolicy?',
    ],
    ['rbac/rule-api-group-singular', '7:5', 'rules[0].apiGroup', 'did you mean apiGroups?'],
    [
      'autoscaling/target-cpu-in-v2',
      '16:9',
      'spec.metrics[0].resource.targetAverageUtilization',
      'did you mean target.averageUtilization?',
    ],
  ])('%s', (name, place, field, hint) => {
    expect(findingsOf(name)).toEqual(unknown(place, field, hint));
  });

  it('leaves what the unknown field does not explain', () => {
    const affinity = 'spec.template.spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]';
    expect(findingsOf('workloads/preferred-affinity-without-term')).toEqual([
      ...unknown('20:15', `${affinity}.labelSelector`, 'did you mean podAffinityTerm.labelSelector?'),
      `20:15: error: ${affinity}.weight is missing`,
      ...unknown('23:15', `${affinity}.topologyKey`, 'did you mean podAffinityTerm.topologyKey?'),
    ]);
  });
});

describe('an error in the identity hides no other finding', () => {
  it.each([
    ['metadata/version-lower-case-key', ['did you mean apiVersion?', 'spec.ports[0].port must be a whole number']],
    [
      'metadata/namespace-list',
      ['metadata.namespace must be text, not a list', 'spec.ports[0].protocol must be one of'],
    ],
    [
      'workloads/version-missing',
      ['apiVersion is missing (Deployment is in apps/v1)', 'spec.selector is missing', 'spec.template is missing'],
    ],
  ])('%s', (name, parts) => {
    const found = findingsOf(name);
    expect(found).toHaveLength(parts.length);
    for (const [index, part] of parts.entries()) expect(found[index]).toContain(part);
  });
});

describe('an API version that no API server can have names the right one', () => {
  it.each([
    ['metadata/version-misspelled', 'did you mean apps/v1?'],
    ['networking/ingress-group-misspelled', 'did you mean networking.k8s.io/v1?'],
    ['rbac/role-version-without-suffix', 'did you mean rbac.authorization.k8s.io/v1?'],
    ['metadata/group-of-rbac-without-suffix', 'did you mean rbac.authorization.k8s.io/v1?'],
    ['metadata/version-with-capital', 'did you mean v1?'],
    ['metadata/version-of-core-that-does-not-exist', 'write v1'],
  ])('%s', (name, hint) => {
    expect(findingsOf(name)).toEqual([expect.stringContaining(`(${hint})`)]);
  });

  it.each([
    ['metrics.k8s.io/v1beta1', 'PodMetrics'],
    ['custom.metrics.k8s.io/v1beta1', 'MetricValue'],
    ['packages.operators.coreos.com/v1', 'PackageManifest'],
  ])('does not refuse %s, which an aggregated API server may have', (apiVersion, kind) => {
    const bytes = Buffer.from(`apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata:\n  name: a\n`);
    const found = diagnosticsOfCase({ name: 'aggregated', bytes, wanted: [] });
    expect(found.map(({ severity, code }) => `${severity} ${code}`)).toEqual(['warning FR2030']);
  });
});
