import { validate } from '../../../generated/fleet-policy.js';
import type { FleetPolicy } from '../../model/desired.ts';
import { defaultFleetPolicy } from '../../model/fleet-policy.ts';
import { compareText, type JsonObject } from '../../model/json.ts';
import { check, type DocumentReading } from './reading.ts';

/** Reads a `fleetrelay.dev/v1alpha1 FleetPolicy`; what it leaves out has its default. */
export function readPolicy(document: JsonObject): DocumentReading {
  const checked = check(document, validate);
  if (!checked.ok) return { problems: checked.problems };
  const { metadata, spec } = checked.value;
  const policy: FleetPolicy = {
    guards: { ...defaultFleetPolicy.guards, ...spec?.guards },
    safeMode: { ...defaultFleetPolicy.safeMode, ...spec?.safeMode },
    status: { ...defaultFleetPolicy.status, ...spec?.status },
    discovery: {
      excludedNamespaces: sortedUnique(spec?.discovery?.excludedNamespaces),
      excludedKinds: sortedUnique(spec?.discovery?.excludedKinds),
    },
  };
  const identity = `fleetrelay.dev/FleetPolicy/${metadata.namespace ?? ''}/${metadata.name}`;
  return { identity, problems: [], content: { type: 'policy', name: metadata.name, policy } };
}

function sortedUnique(texts: readonly string[] = []): readonly string[] {
  return [...new Set(texts)].sort(compareText);
}
