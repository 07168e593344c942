import { engineKindIds, engineKindOf, engineKindRow, engineKinds } from '../model/engine-kinds.ts';
import { quote } from '../model/ids.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../model/json.ts';
import { decoders } from './kinds/decoders.ts';
import { readObject } from './kinds/object.ts';
import type { DocumentReading } from './kinds/reading.ts';
import { didYouMean, fieldError } from './problem.ts';
import { typeWord } from './schema-problems.ts';

/** An unknown kind of this group is a mistake, and no object to ship. */
const OWN_GROUP = 'fleetrelay.dev';
const OWN_KINDS: readonly string[] = engineKindIds.filter((id) => engineKinds[id].group === OWN_GROUP).sort();

/** Kinds that have Kuma's flat form. */
const UNIVERSAL_KINDS = engineKindIds.filter((id) => engineKinds[id].hasUniversalForm);

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
  if (group === OWN_GROUP && kind === 'RelayConfig') return refuseRelayConfig();
  const id = engineKindOf(group, kind);
  if (id === undefined) return group === OWN_GROUP ? refuseUnknownKind(kind) : readObject(document);
  const { versions } = engineKindRow(id);
  if (versions.includes(apiVersion.slice(slash + 1))) return decoders[engineKinds[id].decoder](document);
  const known = versions.map((version) => `${group}/${version}`).join(', ');
  const message = `the version ${quote(apiVersion)} of ${kind} is not known; known is ${known}`;
  return { problems: [fieldError('UnknownVersion', ['apiVersion'], message)] };
}

/** Kuma's flat form has a type and neither apiVersion nor kind. */
function readUniversal(type: string, document: JsonObject): DocumentReading {
  const id = UNIVERSAL_KINDS.find((each) => engineKinds[each].kind === type);
  if (id !== undefined) return decoders[engineKinds[id].decoder](document);
  const kinds = UNIVERSAL_KINDS.map((each): string => engineKinds[each].kind);
  const near = didYouMean(type, kinds);
  const message = `the type ${quote(type)} is not known; of the resources that Kuma writes with a type, only ${kinds.join(', ')} is read`;
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
