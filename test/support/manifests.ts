/** A KubernetesCluster's manifest. */
export function clusterYaml(name: string, labels: Readonly<Record<string, string>> = {}): string {
  return [
    'apiVersion: admin.gloo.solo.io/v2',
    'kind: KubernetesCluster',
    'metadata:',
    `  name: ${name}`,
    '  namespace: gloo-mesh',
    ...(Object.keys(labels).length === 0
      ? []
      : ['  labels:', ...Object.entries(labels).map(([key, value]) => `    ${key}: ${JSON.stringify(value)}`)]),
    'spec:',
    '  clusterDomain: cluster.local',
    '',
  ].join('\n');
}

/** A ConfigMap's manifest. */
export function configMapYaml(name: string, data: string, namespace = 'web'): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: '${name}'\n  namespace: ${namespace}\ndata:\n  value: ${JSON.stringify(data)}\n`;
}

/** A Placement of what the paths select on all clusters. */
export function placementYaml(name: string, paths: string | readonly string[], clusters = 'selector: {}'): string {
  const listed = [paths].flat().map((path) => `    - ${JSON.stringify(path)}\n`);
  return `apiVersion: fleetrelay.dev/v1alpha1\nkind: Placement\nmetadata:\n  name: ${name}\nspec:\n  paths:\n${listed.join('')}  clusters:\n    ${clusters}\n`;
}

/** A FleetPolicy with one setting of the guards. */
export function policyYaml(maxRemovalsPerCluster: number): string {
  return `apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata:\n  name: fleet\nspec:\n  guards:\n    maxRemovalsPerCluster: ${maxRemovalsPerCluster}\n`;
}
