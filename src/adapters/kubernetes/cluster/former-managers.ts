import { annotationOf, metadataOf } from '../../../model/objects/object-key.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../../model/text/json.ts';
import type { KubeRequest } from '../api/types.ts';
import { ADOPT_FROM } from './annotations.ts';
import { joinedFields } from './field-sets.ts';
import {
  byTimeDescending,
  FIELD_MANAGER,
  type FieldManager,
  type FieldSet,
  fieldManagers,
  isOurs,
} from './ownership.ts';

/**
 * Field managers of the tools from which an object is adopted. `before-first-apply` stands for writes before managers were recorded. Source:
 * kubectl, Helm, our own command line, Flux (kustomize-controller, helm-controller, its command) and Argo CD.
 */
const TOOLS: readonly string[] = [
  'before-first-apply',
  'helm',
  'fleetrelay-cli',
  'kustomize-controller',
  'helm-controller',
  'flux',
  'argocd-controller',
  'argocd-application-controller',
  'argocd',
];

/**
 * kubectl names itself by its command (`kubectl-create`, `kubectl-edit`). What `kubectl rollout` writes, such as the time of a restart, is in
 * no manifest, and to remove it would restart Pods.
 */
const KUBECTL = /^kubectl(-(?!rollout$)|$)/;

/**
 * The managers that lose their fields to the declared object: managers that it names, and tools if it is being adopted. A manager
 * keeps what it owns through a subresource.
 */
export function formerManagers(
  managers: readonly FieldManager[],
  declared: JsonObject,
  isAdopted: boolean,
): readonly FieldManager[] {
  const named = annotationOf(declared, ADOPT_FROM)
    .split(',')
    .map((name) => name.trim())
    // A manager can lack a name, and no manifest can mean it.
    .filter((name) => name !== '');
  return managers.filter(
    (one) =>
      !isOurs(one) &&
      one.subresource === '' &&
      (named.includes(one.manager) || (isAdopted && (TOOLS.includes(one.manager) || KUBECTL.test(one.manager)))),
  );
}

/** The fields that these managers own together. */
export function allFields(managers: readonly FieldManager[]): FieldSet {
  return managers.map(({ fields }) => fields).reduce(joinedFields, {});
}

/** The fields of a live object that we own. */
export function ourFields(live: JsonObject): FieldSet {
  return allFields(fieldManagers(live).filter(isOurs));
}

/** A change of the managers of a live object. It changes no field. */
export interface Ownership {
  /** Ours, named in `apiVersion`. An apply afterwards removes those that it does not declare. */
  readonly fields: FieldSet;
  readonly apiVersion: string;
  /** Managers that own nothing any more. */
  readonly over?: readonly FieldManager[];
  /** The fields of other managers are named in `apiVersion` as well, except those that they own through a subresource. */
  readonly renamesOthers?: boolean;
}

/** The request that makes this change, if the object is still as it was read. */
export function ownershipRequest(path: string, live: JsonObject, ownership: Ownership): KubeRequest {
  const { fields, apiVersion, over = [], renamesOthers = false } = ownership;
  const isOver = (one: FieldManager): boolean =>
    isOurs(one) || (one.subresource === '' && over.some((each) => isSame(each, one)));
  const managers = fieldManagers(live);
  const staying = managers.map((one) => !isOver(one));
  const others = objectsOf(metadataOf(live).managedFields).filter((_, at) => staying[at]);
  const [newest] = managers.filter(isOver).toSorted(byTimeDescending);
  const ours = {
    manager: FIELD_MANAGER,
    operation: 'Apply',
    apiVersion,
    fieldsType: 'FieldsV1',
    fieldsV1: fields,
    ...(newest === undefined || newest.time === '' ? {} : { time: newest.time }),
  };
  const { uid, resourceVersion } = metadataOf(live);
  const managedFields = [...(renamesOthers ? renamed(others, apiVersion) : others), ours];
  return {
    method: 'PATCH',
    path,
    query: { fieldManager: FIELD_MANAGER },
    contentType: 'application/merge-patch+json',
    body: { metadata: { uid, resourceVersion, managedFields } },
  };
}

/** The entries in this version. Entries of one manager that become the same are joined, since an API server keeps only the last. */
function renamed(entries: readonly JsonObject[], apiVersion: string): readonly JsonObject[] {
  const named = entries.map((entry) => (textOf(entry.subresource) === '' ? { ...entry, apiVersion } : entry));
  const groups = Map.groupBy(named, ({ manager = '', operation = '', subresource = '', apiVersion: version = '' }) =>
    JSON.stringify([manager, operation, subresource, version]),
  );
  return [...groups.values()].map((same) => ({
    ...same.at(-1),
    fieldsV1: same.map(({ fieldsV1 }) => objectOf(fieldsV1)).reduce(joinedFields),
  }));
}

function isSame(a: FieldManager, b: FieldManager): boolean {
  return a.manager === b.manager && a.operation === b.operation;
}

/** Who owns fields that are named in another version of the kind; undefined: no manager. Subresources do not count. */
export function namedInOtherVersion(live: JsonObject, apiVersion: string): 'ours' | 'others' | undefined {
  const differing = fieldManagers(live).filter((one) => one.subresource === '' && one.apiVersion !== apiVersion);
  return differing.some(isOurs) ? 'ours' : differing.length > 0 ? 'others' : undefined;
}
