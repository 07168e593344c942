import { policyRule } from '../../src/compose/manifests/agent-rights.ts';
import { printYaml } from '../../src/manifest/print-yaml.ts';
import { isJsonObject, type JsonObject } from '../../src/model/json.ts';
import { SERVER_CUSTOM_RESOURCES } from './server-permissions.ts';

const HEADER = '# Generated from scripts/deploy/server-permissions.ts. Do not edit; run "npm run generate".\n';
const NAME = 'fleetrelay-server-custom-resources';
const LABELS = { 'app.kubernetes.io/name': 'fleetrelay-server', 'app.kubernetes.io/part-of': 'fleetrelay' };

/** Path below the project → text, of what the server's rights are made of. */
export function serverRightsFiles(): ReadonlyMap<string, string> {
  const rules = SERVER_CUSTOM_RESOURCES.map(policyRule);
  const rbac = 'rbac.authorization.k8s.io';
  const metadata = { name: NAME, labels: LABELS };
  const objects: readonly JsonObject[] = [
    { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata, rules },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: NAME },
      subjects: [{ kind: 'ServiceAccount', name: 'fleetrelay-server', namespace: 'fleetrelay-server' }],
    },
  ];
  return new Map([
    [
      'deploy/kustomize/components/server-custom-resources/rights.yaml',
      HEADER + objects.map((object) => printYaml(object)).join('---\n'),
    ],
    ['deploy/helm/fleetrelay/files/rights.yaml', HEADER + printYaml({ customResources: rules })],
  ]);
}

/** `files/relay-config-fields.yaml` of the server's chart: the fields of RelayConfig, each of which is a value. */
export function relayConfigFields(relayConfig: JsonObject): string {
  const { apiVersion, kind, ...fields } = propertiesOf(relayConfig);
  return `# Generated from schemas/relay-config.json. Do not edit; run "npm run generate".\n${printYaml({ fields: Object.keys(fields) })}`;
}

/** The chart's own values beside what RelayConfig and FleetPolicy say, as a JSON Schema. */
export interface ChartSchemas {
  /** `server-values.json`: title, description, properties, $defs. */
  readonly own: JsonObject;
  readonly relayConfig: JsonObject;
  readonly fleetPolicy: JsonObject;
}

/**
 * `values.schema.json` of the server's chart: every field of RelayConfig under its own name, `safeMode` and `policy` as in
 * a FleetPolicy's spec, and what only the chart knows.
 */
export function serverValuesSchema({ own, relayConfig, fleetPolicy }: ChartSchemas): JsonObject {
  const { apiVersion, kind, ...config } = propertiesOf(relayConfig);
  const { safeMode, ...policy } = propertiesOf(propertiesOf(fleetPolicy).spec);
  const described = {
    description: 'What a FleetPolicy says beside its safe mode; an own source gives it, before all others.',
  };
  return {
    ...own,
    properties: {
      ...propertiesOf(own),
      ...config,
      safeMode,
      policy: { type: 'object', ...described, additionalProperties: false, properties: policy },
    },
    $defs: { ...membersOf(own.$defs), ...membersOf(relayConfig.$defs), ...membersOf(fleetPolicy.$defs) },
  };
}

function propertiesOf(schema: JsonObject[string]): JsonObject {
  return membersOf(isJsonObject(schema) ? schema.properties : undefined);
}

function membersOf(value: JsonObject[string]): JsonObject {
  return isJsonObject(value) ? value : {};
}
