import type { Digest } from '../../../../model/fleet/ids.ts';
import { metadataOf, type ObjectKey, objectRefOf } from '../../../../model/objects/object-key.ts';
import { type JsonObject, objectOf, textOf } from '../../../../model/text/json.ts';
import type { ObservedObject } from '../../../../ports/cluster-api.ts';
import { resourcePath } from '../../api/paths.ts';
import type { ApiResource } from '../../api/types.ts';
import { type FieldManager, type FieldSet, fieldManagers, isOurStatus, ourFields } from '../ownership.ts';

/** The status of a live object of others, as far as the metadata of the object tells. */
export interface StatusEntry extends ObservedObject {
  readonly uid: string;
  /** Of the fields of the status that we own. */
  readonly fieldsText: string;
  /** Moves on while nothing else changes but what other managers have. */
  resourceVersion: string;
  /** The other managers of the status, as they were read last. */
  others: readonly FieldManager[];
  /** The content that this process has applied to this object last; undefined: none. */
  applied: Digest | undefined;
}

/** The fields of the status that we own. */
export function fieldsOfStatus({ fieldsText }: StatusEntry): FieldSet {
  return objectOf(JSON.parse(fieldsText));
}

export type StatusStore = ReturnType<typeof createStatusStore>;

/** The statuses of live objects of others, by the keys of the statuses. */
export function createStatusStore() {
  const objects = new Map<ObjectKey, StatusEntry>();
  let changed = new Set<ObjectKey>();

  /** Takes an object as it was read. An entry that says the same of our fields stays the same. Returns whether it differs. */
  const put = (key: ObjectKey, raw: JsonObject, resource: ApiResource): boolean => {
    const before = objects.get(key);
    const entry = readStatus(key, raw, resource);
    if (before?.uid === entry.uid) {
      if (before.fieldsText === entry.fieldsText) {
        before.resourceVersion = entry.resourceVersion;
        before.others = entry.others;
        return false;
      }
      entry.applied = before.applied;
    }
    objects.set(key, entry);
    changed.add(key);
    return true;
  };

  return {
    objects: objects as ReadonlyMap<ObjectKey, StatusEntry>,
    put,
    /** Takes the answer to a write of this content. */
    wrote(key: ObjectKey, raw: JsonObject, resource: ApiResource, applied: Digest | undefined): void {
      put(key, raw, resource);
      const entry = objects.get(key);
      if (entry !== undefined) entry.applied = applied;
    },
    /** The object does not exist, or its status is not applied any more. Returns whether it was there. */
    gone(key: ObjectKey): boolean {
      if (!objects.delete(key)) return false;
      changed.add(key);
      return true;
    },
    hasChanged: (): boolean => changed.size > 0,
    /** The keys that changed since the last call. */
    takeChanged(): ReadonlySet<ObjectKey> {
      const taken = changed;
      changed = new Set();
      return taken;
    },
  };
}

function readStatus(key: ObjectKey, raw: JsonObject, resource: ApiResource): StatusEntry {
  const { group, version, kind } = resource;
  const { name, namespace } = objectRefOf(key);
  const at = { name, ...(namespace === '' ? {} : { namespace }) };
  const { uid, resourceVersion } = metadataOf(raw);
  return {
    key,
    value: { apiVersion: group === '' ? version : `${group}/${version}`, kind, metadata: at },
    where: resourcePath({ resource, ...at, subresource: 'status' }),
    uid: textOf(uid),
    resourceVersion: textOf(resourceVersion),
    fieldsText: JSON.stringify(ourFields(raw, isOurStatus) ?? {}),
    others: fieldManagers(raw).filter((each) => !isOurStatus(each) && each.fields['f:status'] !== undefined),
    applied: undefined,
  };
}
