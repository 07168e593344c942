import { type JsonObject, type JsonValue, objectOf, objectsOf, textOf } from '../../text/json.ts';
import { given } from '../../values/given.ts';

/** Stands for an address that an API server has chosen. */
const ALLOCATED = '(allocated)';

/** Whether each port of a Service of this type has a port on the nodes. */
export function needsNodePorts({ type }: JsonObject): boolean {
  return type === 'NodePort' || type === 'LoadBalancer';
}

/** Addresses and node ports stay while the type of the Service needs them. */
export function keptOfService(live: JsonObject, after: JsonObject): JsonObject {
  const [older, newer] = [objectOf(live.spec), objectOf(after.spec)];
  const addressOf = ({ type, clusterIP }: JsonObject, otherwise: JsonValue) =>
    type === 'ExternalName' ? undefined : (clusterIP ?? otherwise);
  const address = addressOf(older, ALLOCATED) ?? ALLOCATED;
  // A Service without address has no node ports: its manifest wants another one then.
  const clusterIP = addressOf(newer, address === 'None' && needsNodePorts(newer) ? ALLOCATED : address);
  const ports = new Map(objectsOf(older.ports).map((port) => [portName(port), port.nodePort]));
  const keepsPorts = needsNodePorts(older) && needsNodePorts(newer) && newer.ports !== undefined;
  return {
    ...after,
    spec: {
      ...newer,
      ...given({ clusterIP }),
      ...(clusterIP === undefined ? {} : keptBeside(older, newer, ['ipFamilies', 'ipFamilyPolicy'])),
      ...(clusterIP === undefined || clusterIP !== older.clusterIP ? {} : keptBeside(older, newer, ['clusterIPs'])),
      ...(isChecked(newer)
        ? { healthCheckNodePort: newer.healthCheckNodePort ?? older.healthCheckNodePort ?? ALLOCATED }
        : {}),
      ...(keepsPorts
        ? {
            ports: objectsOf(newer.ports).map((port) => ({
              ...defined({ nodePort: ports.get(portName(port)) }),
              ...port,
            })),
          }
        : {}),
    },
  };
}

/** Whether a load balancer checks the nodes of the Service, on a node port that stays. */
function isChecked({ type, externalTrafficPolicy }: JsonObject): boolean {
  return type === 'LoadBalancer' && externalTrafficPolicy === 'Local';
}

/** The fields of these names that the newer version leaves out, as the older one has them. */
function keptBeside(older: JsonObject, newer: JsonObject, names: readonly string[]): JsonObject {
  const kept = names.filter((name) => newer[name] === undefined && older[name] !== undefined);
  return Object.fromEntries(kept.map((name) => [name, older[name] as JsonValue]));
}

/** An API server keeps the one of two defaults that depend on each other which no manifest has declared. */
export function keptOfJob(live: JsonObject, after: JsonObject, before: JsonObject): JsonObject {
  const declared = [objectOf(before.spec), objectOf(after.spec)];
  const stays = Object.entries(objectOf(live.spec)).filter(
    ([name]) => ['completions', 'parallelism'].includes(name) && declared.every((spec) => spec[name] === undefined),
  );
  return stays.length === 0 ? after : { ...after, spec: { ...objectOf(after.spec), ...Object.fromEntries(stays) } };
}

function portName({ port, protocol = 'TCP' }: JsonObject): string {
  return `${textOf(protocol)} ${String(port)}`;
}

function defined(value: { readonly nodePort: JsonValue | undefined }): JsonObject {
  return given({ nodePort: value.nodePort });
}
