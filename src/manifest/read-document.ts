import { quote } from '../model/ids.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../model/json.ts';
import { readApproval } from './kinds/approval.ts';
import { readCluster } from './kinds/cluster.ts';
import { readDataplane } from './kinds/dataplane.ts';
import { readMirror } from './kinds/mirror.ts';
import { readObject } from './kinds/object.ts';
import { readPlacement } from './kinds/placement.ts';
import { readPolicy } from './kinds/policy.ts';
import type { DocumentReading } from './kinds/reading.ts';
import { readShoot } from './kinds/shoot.ts';
import { didYouMean, fieldError } from './problem.ts';
import { typeWord } from './schema-problems.ts';

interface EngineKind {
  readonly versions: readonly string[];
  readonly read: (document: JsonObject) => DocumentReading;
}

/** By `group/Kind`: what the engine reads and never ships. */
const ENGINE_KINDS: Readonly<Record<string, EngineKind>> = {
  'admin.gloo.solo.io/KubernetesCluster': { versions: ['v2'], read: readCluster },
  'core.gardener.cloud/Shoot': { versions: ['v1beta1'], read: readShoot },
  'fleetrelay.dev/FleetPolicy': { versions: ['v1alpha1'], read: readPolicy },
  'fleetrelay.dev/Placement': { versions: ['v1alpha1'], read: readPlacement },
  'fleetrelay.dev/RemovalApproval': { versions: ['v1alpha1'], read: readApproval },
  'fleetrelay.dev/ServiceMirror': { versions: ['v1alpha1'], read: readMirror },
  'fleetrelay.dev/RelayConfig': { versions: ['v1alpha1'], read: refuseRelayConfig },
  'kuma.io/Dataplane': { versions: ['v1alpha1'], read: readDataplane },
};

const OWN_GROUP = 'fleetrelay.dev';
const OWN_KINDS = ['FleetPolicy', 'Placement', 'RemovalApproval', 'ServiceMirror'];

/** Reads one document, whatever it is. */
export function readDocument(document: JsonValue): DocumentReading {
  if (!isJsonObject(document)) {
    const message = `a manifest must be a mapping, not ${typeWord(document)}`;
    const hint = 'if the file is no manifest, list it in .fleetrelayignore';
    return { problems: [fieldError('NotAnObject', [], message, hint)] };
  }
  const { apiVersion, kind, type } = document;
  if (typeof type === 'string' && apiVersion === undefined && kind === undefined) return readUniversal(type, document);
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return readObject(document);
  const slash = apiVersion.indexOf('/');
  const group = slash < 0 ? '' : apiVersion.slice(0, slash);
  const engineKind = Object.hasOwn(ENGINE_KINDS, `${group}/${kind}`) ? ENGINE_KINDS[`${group}/${kind}`] : undefined;
  if (engineKind === undefined) return group === OWN_GROUP ? refuseUnknownKind(kind) : readObject(document);
  if (engineKind.versions.includes(apiVersion.slice(slash + 1))) return engineKind.read(document);
  const known = engineKind.versions.map((version) => `${group}/${version}`).join(', ');
  const message = `the version ${quote(apiVersion)} of ${kind} is not known; known is ${known}`;
  return { problems: [fieldError('UnknownVersion', ['apiVersion'], message)] };
}

/** Kuma's flat form has a type and neither apiVersion nor kind. */
function readUniversal(type: string, document: JsonObject): DocumentReading {
  if (type === 'Dataplane') return readDataplane(document);
  const near = didYouMean(type, ['Dataplane']);
  const message = `the type ${quote(type)} is not known; of the resources that Kuma writes with a type, only Dataplane is read`;
  const hint = near ?? 'a manifest has apiVersion and kind';
  return { problems: [fieldError('UnknownKind', ['type'], message, hint)] };
}

function refuseUnknownKind(kind: string): DocumentReading {
  const near = didYouMean(kind, OWN_KINDS);
  const message = `the kind ${quote(kind)} of ${OWN_GROUP} is not known; known are ${OWN_KINDS.join(', ')}`;
  return { problems: [fieldError('UnknownKind', ['kind'], message, near)] };
}

function refuseRelayConfig(): DocumentReading {
  const message = "RelayConfig is the server's own file; a repository cannot hold it";
  const hint = 'give it to the server with --config; what a repository may set is in FleetPolicy';
  return { problems: [fieldError('ServerConfigInRepository', ['kind'], message, hint)] };
}
