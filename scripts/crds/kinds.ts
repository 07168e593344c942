import { STATUS_LABEL } from '../../src/domains/care/model/shoot-status-label.ts';
import type { CustomKind } from '../../src/model/fleet/engine-kinds.ts';
import { dataplaneAdditions, dataplaneRules } from './dataplane.ts';
import type { Column, CustomForm, Rule } from './form.ts';

const CLUSTER_NAME = "'^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$'";
const CLUSTER_NAME_RULE = '1 to 63 lower-case letters, digits or "-", start with a letter and not end with "-"';

const age: Column = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };
const condition = (name: string, type: string, priority?: number): Column => ({
  name,
  type: 'string',
  jsonPath: `.status.conditions[?(@.type=="${type}")].status`,
  ...(priority === undefined ? {} : { priority }),
});
const reason: Column = {
  name: 'Reason',
  type: 'string',
  jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
  priority: 1,
};
const count = (name: string, field: string): Column => ({ name, type: 'integer', jsonPath: `.status.counts.${field}` });

const selectorRules = (at: readonly string[]): readonly Rule[] => [
  {
    at: [...at, 'matchExpressions', '[]'],
    rule: "!(self.operator in ['In', 'NotIn']) || (has(self.values) && size(self.values) > 0)",
    message: 'In and NotIn need values',
  },
  {
    at: [...at, 'matchExpressions', '[]'],
    rule: "!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || size(self.values) == 0",
    message: 'Exists and DoesNotExist take no values',
  },
];

const chosenClusters = (field: string, otherwise = ''): readonly Rule[] => [
  {
    at: ['spec', field],
    rule: `${otherwise}has(self.selector) || (has(self.names) && size(self.names) > 0)`,
    message: 'it selects nothing: name clusters in names, or give a selector ({} selects every cluster)',
  },
  {
    at: ['spec', field, 'names', '[]'],
    rule: `self.matches(${CLUSTER_NAME})`,
    message: `the name of a cluster must be ${CLUSTER_NAME_RULE}`,
  },
  ...selectorRules(['spec', field, 'selector']),
];

const kubernetesCluster: CustomForm = {
  columns: [
    condition('Connected', 'Connected'),
    condition('Warm', 'ClusterWarm'),
    count('Applied', 'applied'),
    count('Targeted', 'targeted'),
    condition('Ready', 'Ready'),
    reason,
    age,
  ],
  sets: [],
  rules: [
    {
      at: [],
      rule: `self.metadata.name.matches(${CLUSTER_NAME})`,
      message: `the name of a cluster must be ${CLUSTER_NAME_RULE}`,
    },
  ],
};

const placement: CustomForm = {
  columns: [
    { name: 'Paths', type: 'string', jsonPath: '.spec.paths' },
    { name: 'Clusters', type: 'integer', jsonPath: '.status.selectedClusters' },
    count('Applied', 'applied'),
    count('Targeted', 'targeted'),
    condition('Ready', 'Ready'),
    reason,
    age,
  ],
  sets: [
    ['spec', 'paths'],
    ['spec', 'clusters', 'names'],
  ],
  rules: [
    ...chosenClusters('clusters'),
    {
      at: ['spec', 'paths', '[]'],
      rule: "!self.startsWith('/') && !self.startsWith('!') && !self.matches('(^|/)[.][.]?(/|$)')",
      message: 'a path must be relative to the root of its source: no leading "/" or "!", no "." or ".." as a folder',
    },
  ],
};

const serviceMirror: CustomForm = {
  columns: [
    { name: 'Services', type: 'integer', jsonPath: '.status.mirroredServices' },
    { name: 'Clusters', type: 'integer', jsonPath: '.status.selectedClusters' },
    count('Applied', 'applied'),
    count('Targeted', 'targeted'),
    condition('Ready', 'Ready'),
    reason,
    age,
  ],
  sets: [
    ['spec', 'from', 'names'],
    ['spec', 'from', 'meshes'],
    ['spec', 'to', 'names'],
  ],
  rules: [
    ...chosenClusters('from', 'has(self.meshes) || '),
    {
      at: ['spec', 'from'],
      rule: '!has(self.meshes) || !(has(self.names) || has(self.selector))',
      message: 'meshes and clusters (names or selector) exclude each other: write a ServiceMirror for each',
    },
    {
      at: ['spec', 'from'],
      rule: 'has(self.meshes) == has(self.namespace)',
      message: 'meshes need a namespace for the mirrored services; without meshes there must be none',
    },
    {
      at: ['spec'],
      rule: '!has(self.from.meshes) || !has(self.serviceSelector)',
      message: 'services of meshes have no labels to select: remove serviceSelector',
      fieldPath: '.serviceSelector',
    },
    ...chosenClusters('to'),
    ...selectorRules(['spec', 'serviceSelector']),
  ],
};

const fleetPolicy: CustomForm = {
  columns: [
    { name: 'Safe Mode', type: 'string', jsonPath: '.spec.safeMode.mode' },
    { name: 'Max Removals', type: 'integer', jsonPath: '.spec.guards.maxRemovalsPerCluster' },
    age,
  ],
  sets: [],
  rules: [],
};

const dataplane: CustomForm = {
  definition: 'kubernetes',
  columns: [
    { name: 'Mesh', type: 'string', jsonPath: '.mesh' },
    { name: 'Address', type: 'string', jsonPath: '.spec.networking.address' },
    condition('Accepted', 'Accepted'),
    age,
  ],
  sets: [],
  additions: dataplaneAdditions,
  takesNulls: ['spec', 'mesh'],
  rules: dataplaneRules,
};

const text = (name: string, jsonPath: string, priority?: number): Column => ({
  ...{ name, type: 'string', jsonPath },
  ...(priority === undefined ? {} : { priority }),
});

/** The columns of Gardener's own list, as far as a path can say them: it joins no texts and has no defaults. */
const shoot: CustomForm = {
  columns: [
    text('CloudProfile', '.spec.cloudProfile.name'),
    text('Provider', '.spec.provider.type'),
    text('Region', '.spec.region'),
    text('Seed', '.spec.seedName', 1),
    text('K8S Version', '.spec.kubernetes.version'),
    { name: 'Hibernated', type: 'boolean', jsonPath: '.status.hibernated' },
    text('Last Operation', '.status.lastOperation.type'),
    text('State', '.status.lastOperation.state'),
    { name: 'Progress', type: 'integer', jsonPath: '.status.lastOperation.progress' },
    text('Status', `.metadata.labels.${STATUS_LABEL.replaceAll('.', '\\.')}`),
    text('Purpose', '.spec.purpose', 1),
    text('Gardener Version', '.status.gardener.version', 1),
    condition('APIServer', 'APIServerAvailable', 1),
    condition('Control', 'ControlPlaneHealthy', 1),
    condition('Observability', 'ObservabilityComponentsHealthy', 1),
    condition('Nodes', 'EveryNodeReady', 1),
    condition('System', 'SystemComponentsHealthy', 1),
    age,
  ],
  sets: [],
  rules: [],
};

/**
 * The forms of the CustomResourceDefinitions. All are namespaced: KubernetesCluster, Dataplane and Shoot because they are so
 * upstream, the others so that one namespace can hold a fleet whole (its server needs a Role and no ClusterRole, and several
 * fleets fit into one cluster).
 */
export const customForms: { readonly [Kind in CustomKind]: CustomForm } = {
  KubernetesCluster: kubernetesCluster,
  Placement: placement,
  ServiceMirror: serviceMirror,
  FleetPolicy: fleetPolicy,
  Dataplane: dataplane,
  Shoot: shoot,
};
