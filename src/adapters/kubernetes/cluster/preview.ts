import type { AgentSettings } from '../../../model/agent/agent-settings.ts';
import type { FieldNames } from '../../../model/objects/ignored-fields.ts';
import { isKeyOfSecret } from '../../../model/objects/secret-values.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEquals,
  objectOf,
  objectsOf,
  textOf,
} from '../../../model/text/json.ts';
import type { ApplyRequest } from '../../../ports/cluster-api.ts';
import { resourcePath } from '../api/paths.ts';
import type { ApiCatalog, KubeClient } from '../api/types.ts';
import { ADOPT, mayTakeOver } from './annotations.ts';
import { fieldsOf, subtractFields, undeclaredFields, withoutPaths } from './field-sets.ts';
import { allFields, formerManagers } from './former-managers.ts';
import { handOver, ignoredOf, leftToOthers } from './ignored-fields.ts';
import { type Autoscaled, createAutoscaled } from './live/autoscaled.ts';
import { keyOfLive } from './live/entry.ts';
import { trimObject } from './live/trim.ts';
import { type FieldManager, fieldManagers, isOurs, ownerOf } from './ownership.ts';
import { conflictsOf, type Failure, type FieldConflict, failureOf, isFieldConflict } from './refusals.ts';
import { applyBody, applyRequestOf, asNew, asOf, findResource, type Looking, readLive } from './write.ts';

/** A field that would change. Values of Secrets are never shown. */
export interface FieldChange {
  readonly field: string;
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
}

/**
 * What a first apply of an object would do. `conflicts`: fields that would be taken from other managers. `adopts`: the
 * present owner, if the object is not ours; `mayTakeOver`: it may be taken over.
 */
export type Preview =
  | { readonly type: 'create' | 'unchanged' }
  | {
      readonly type: 'change';
      readonly adopts?: string;
      readonly mayTakeOver?: boolean;
      readonly changes: readonly FieldChange[];
      readonly conflicts: readonly FieldConflict[];
    }
  | { readonly type: 'conflict'; readonly owner: string; readonly message: string }
  | Failure;

/** Reads what previews need, with one request. No kind is followed, and a running agent keeps the inventory. */
export async function openLooking(
  client: KubeClient,
  catalog: ApiCatalog,
  { settings, agentNamespace }: { readonly settings: AgentSettings; readonly agentNamespace: string },
): Promise<Looking> {
  const autoscaled = await loadAutoscaled(client, catalog);
  const refresher = { current: () => catalog, refresh: async () => catalog };
  return { client, live: { catalog: refresher, autoscaled }, settings: () => settings, agentNamespace };
}

async function loadAutoscaled(client: KubeClient, catalog: ApiCatalog): Promise<Autoscaled> {
  const autoscaled = createAutoscaled();
  const resource = catalog.find('autoscaling', 'HorizontalPodAutoscaler');
  if (resource === undefined) return autoscaled;
  const answer = await client.request({ method: 'GET', path: resourcePath({ resource }) });
  // A user that may not read autoscalers sees `replicas` as a change.
  if (answer.type !== 'ok') return autoscaled;
  for (const raw of objectsOf(answer.body.items)) autoscaled.note(keyOfLive(raw, resource), raw);
  return autoscaled;
}

/** Asks the API server for the result of an apply (dry run), as if the object were adopted. Writes nothing. */
export async function previewApply(looking: Looking, request: ApplyRequest): Promise<Preview> {
  const { client } = looking;
  const { key, value, stamp } = request;
  const resource = await findResource(looking, key, textOf(value.apiVersion));
  if ('type' in resource) return resource;
  const found = await readLive(looking, resource, key);
  if (found.type === 'failed') return found;
  const body = applyBody(request, resource);
  const { raw } = found;
  if (raw === undefined) {
    const answer = await client.request(applyRequestOf(resource, key, asNew(body), { force: false, dryRun: true }));
    return answer.type === 'ok' ? { type: 'create' } : failureOf(answer, isKeyOfSecret(key));
  }
  const owner = ownerOf(raw, { fleet: stamp.fleet, key });
  if (owner.type === 'theirs' && !owner.adoptable)
    return { type: 'conflict', owner: owner.owner, message: owner.message };
  const managers = fieldManagers(raw);
  const former = formerManagers(managers, value, owner.type === 'theirs');
  const others = managers.filter((manager) => !former.includes(manager));
  const kept = ignoredOf(looking, request);
  const now = asOf(handOver(body, raw, managers, kept), raw);
  const polite = await client.request(applyRequestOf(resource, key, now, { force: false, dryRun: true }));
  const contested = polite.type === 'refused' && isFieldConflict(polite.refusal);
  const conflicts = contested
    ? conflictsOf(polite.refusal, managers).filter(({ manager }) => others.some((other) => other.manager === manager))
    : [];
  const answer = contested
    ? await client.request(applyRequestOf(resource, key, now, { force: true, dryRun: true }))
    : polite;
  if (answer.type !== 'ok') return failureOf(answer, isKeyOfSecret(key));
  const changes = [
    ...changesBetween(forPeople(raw), forPeople(answer.body)),
    ...(isKeyOfSecret(key) ? secretChanges(raw, answer.body) : []),
    ...removedFields(raw, body, { former, others, left: leftToOthers(looking, request), isSecret: isKeyOfSecret(key) }),
  ];
  const adopts =
    owner.type === 'theirs'
      ? { adopts: owner.owner, mayTakeOver: mayTakeOver(key, value, raw, looking.agentNamespace) }
      : {};
  if (changes.length === 0 && conflicts.length === 0 && owner.type === 'ours') return { type: 'unchanged' };
  return { type: 'change', ...adopts, changes, conflicts };
}

/** Without what every apply changes, and the annotation that only asks for the adoption. */
function forPeople(raw: JsonObject): JsonObject {
  const { metadata, ...rest } = trimObject(raw);
  const { generation: _generation, annotations, ...others } = objectOf(metadata);
  const { [ADOPT]: _adopt, ...kept } = objectOf(annotations);
  const hasAnnotations = Object.keys(kept).length > 0;
  return { ...rest, metadata: { ...others, ...(hasAnnotations ? { annotations: kept } : {}) } };
}

/** What {@link removedFields} needs beside the two objects. */
interface Removing {
  readonly former: readonly FieldManager[];
  readonly others: readonly FieldManager[];
  /** Fields that stay. */
  readonly left: readonly FieldNames[];
  readonly isSecret: boolean;
}

/** The fields that an apply removes once it owns the fields of former managers; a dry run does not take them over. */
function removedFields(
  raw: JsonObject,
  body: JsonObject,
  { former, others, left, isSecret }: Removing,
): readonly FieldChange[] {
  const undeclared = withoutPaths(undeclaredFields(allFields(former), body), left);
  const staying = allFields(others.filter((manager) => !isOurs(manager)));
  return fieldsOf(subtractFields(undeclared, staying)).map(({ name, valueIn }) => {
    const before = valueIn(raw);
    return { field: name, before: isSecret ? hidden(before) : before, after: undefined };
  });
}

/** The entries of a Secret that differ, without their values. */
function secretChanges(before: JsonObject, after: JsonObject): readonly FieldChange[] {
  const [from, to] = [objectOf(before.data), objectOf(after.data)];
  return namesOf(from, to)
    .filter((name) => from[name] !== to[name])
    .map((name) => ({ field: `.data.${name}`, before: hidden(from[name]), after: hidden(to[name]) }));
}

function hidden(value: JsonValue | undefined): string | undefined {
  return value === undefined ? undefined : '(hidden)';
}

function changesBetween(
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  field = '',
): readonly FieldChange[] {
  if (jsonEquals(before, after)) return [];
  if (isJsonObject(before) && isJsonObject(after)) {
    return namesOf(before, after).flatMap((name) => changesBetween(before[name], after[name], `${field}.${name}`));
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return before.flatMap((item, index) => changesBetween(item, after[index], `${field}[${index}]`));
  }
  return [{ field, before, after }];
}

function namesOf(a: JsonObject, b: JsonObject): readonly string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
}
