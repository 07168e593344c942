import { policyRule } from '../../src/compose/manifests/permission.ts';
import { printYaml } from '../../src/manifest/print-yaml.ts';
import { isJsonObject, type JsonObject } from '../../src/model/text/json.ts';
import { SERVER_CUSTOM_RESOURCES, SERVER_LEASE } from './server-permissions.ts';

const HEADER = '# Generated from scripts/deploy/server-permissions.ts. Do not edit; run "npm run generate".\n';
const SERVER = 'fleetrelay-server';
const RBAC = 'rbac.authorization.k8s.io';
const LABELS = { 'app.kubernetes.io/name': 'fleetrelay-server', 'app.kubernetes.io/part-of': 'fleetrelay' };

/** Path below the project → text, of what the server's rights are made of. */
export function serverRightsFiles(): ReadonlyMap<string, string> {
  const customResources = SERVER_CUSTOM_RESOURCES.map(policyRule);
  const lease = SERVER_LEASE.map(policyRule);
  const components = 'deploy/kustomize/components';
  return new Map([
    [
      `${components}/server-custom-resources/rights.yaml`,
      bound('ClusterRole', { name: `${SERVER}-custom-resources`, labels: LABELS }, customResources),
    ],
    [
      `${components}/server-kubernetes-lease/rights.yaml`,
      bound('Role', { name: SERVER, namespace: SERVER, labels: LABELS }, lease),
    ],
    ['deploy/helm/fleetrelay/files/rights.yaml', HEADER + printYaml({ customResources, lease })],
  ]);
}

/** A role with these rules, and the server as the one who has it. */
function bound(
  kind: 'Role' | 'ClusterRole',
  metadata: JsonObject & { readonly name: string },
  rules: JsonObject[],
): string {
  const apiVersion = `${RBAC}/v1`;
  const roleRef = { apiGroup: RBAC, kind, name: metadata.name };
  const subjects = [{ kind: 'ServiceAccount', name: SERVER, namespace: SERVER }];
  const objects: readonly JsonObject[] = [
    { apiVersion, kind, metadata, rules },
    { apiVersion, kind: `${kind}Binding`, metadata, roleRef, subjects },
  ];
  return HEADER + objects.map((object) => printYaml(object)).join('---\n');
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
