import type { JsonObject } from '../../../model/json.ts';
import { resourcePath } from '../api/paths.ts';

/** Name of the head; pieces are called `HEAD-TERM-WRITE-NUMBER`. */
export const HEAD_NAME = 'fleetrelay-inventory';
/** On the head and on each piece. */
export const INVENTORY_LABEL = 'fleetrelay.dev/inventory';

const CONFIG_MAPS = { group: '', version: 'v1', resource: 'configmaps' };

/** Path of a ConfigMap, or of all of them. */
export function configMapPath(namespace: string, name?: string): string {
  return resourcePath({ resource: CONFIG_MAPS, namespace, ...(name === undefined ? {} : { name }) });
}

/** A ConfigMap of the inventory. */
export function configMap(namespace: string, name: string, data: JsonObject, more: JsonObject = {}): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace, labels: { [INVENTORY_LABEL]: 'true' } },
    data,
    ...more,
  };
}
