import type { ConditionValue } from '../../model/conditions.ts';
import { type EngineKind, engineKindRow, isEngineKind } from '../../model/engine-kinds.ts';
import type { JsonObject } from '../../model/json.ts';
import type { Origin } from '../../model/output.ts';
import type { Collection, Derived, Graph } from '../collections/types.ts';
import type { Declarations, Declared } from '../fleet/declared.ts';
import type { FileValue } from '../inputs.ts';

/** What is known of an object of an engine kind. Partition: the id of its kind. Key: as of its declaration. */
export interface StatusPart {
  readonly conditions: readonly ConditionValue[];
  /** Beside the conditions. */
  readonly fields: JsonObject;
  /** Further lists of conditions beside `conditions`, by field, such as a Shoot's `constraints`. */
  readonly conditionLists?: Readonly<Record<string, readonly ConditionValue[]>>;
  /** Labels that the object should have. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Annotations that have been acted on, and are to be removed from the object. */
  readonly removeAnnotations?: readonly string[];
  /** Of an object that no source declares. Absent: the declaration of its address says what it is. */
  readonly subject?: { readonly namespace: string; readonly name: string };
}

/** The status of an object of an engine kind, for the status branch and for custom resources. Same addresses. */
export interface DeclaredStatus extends Omit<StatusPart, 'subject'> {
  readonly kind: EngineKind;
  /** Empty: it has none. */
  readonly namespace: string;
  readonly name: string;
  /** Its file on the status branch. */
  readonly path: string;
  /** Where the declaration that is in force stands; absent: no source declares it. */
  readonly origin?: Origin;
}

/** Stands for the namespace of what lies in none; no namespace can be called so. */
const NO_NAMESPACE = '_cluster';

/** Joins what is declared with what is known of it, and says whether the declaration is accepted. */
export function deriveStatuses(
  graph: Graph,
  declarations: Declarations,
  files: Collection<FileValue>,
  parts: readonly Derived<StatusPart>[],
): Derived<DeclaredStatus> {
  const known = graph.derive<StatusPart, StatusPart>({
    name: 'statusParts',
    from: parts,
    seesAll: true,
    compute: ({ partition, key, value }, _read, emit) => emit(partition, key, value),
  });
  return graph.join<Declared, StatusPart, DeclaredStatus>({
    name: 'statuses',
    left: declarations,
    right: known,
    reads: [files],
    seesAll: true,
    compute: ({ partition: kind, key, left: declared, right: part }, read, emit) => {
      if (!isEngineKind(kind)) throw new Error(`${kind} is no kind that the engine reads`);
      const { subject, conditions = [], fields = {}, ...rest } = part ?? {};
      const { namespace, name } = declared ?? subject ?? {};
      if (namespace === undefined || name === undefined) return;
      const identity = { kind, namespace, name, path: statusPathOf(kind, key, { namespace, name }) };
      if (declared === undefined) {
        emit(kind, key, { ...identity, conditions, fields, ...rest });
        return;
      }
      const { origin, refusal } = declared;
      const accepted: ConditionValue =
        refusal === undefined
          ? acceptedCondition(read.get(files, origin.source, origin.path), declared.isLastKnownGood)
          : { type: 'Accepted', status: 'False', reason: refusal.reason, message: refusal.message };
      emit(kind, key, { ...identity, origin, conditions: [accepted, ...conditions], fields, ...rest });
    },
  });
}

/** The status of an object of an engine kind by the key of its declaration, as of the last commit. */
export function statusOf(
  { statuses }: { readonly statuses: Derived<DeclaredStatus> },
  kind: EngineKind,
  key: string,
): DeclaredStatus | undefined {
  return statuses.get(kind, key);
}

/** The file on the status branch of the object with this key among those of its kind. */
export function statusPathOf(
  kind: EngineKind,
  key: string,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): string {
  const { statusPath, keyedBy, kind: word } = engineKindRow(kind);
  const mesh = keyedBy === 'namespaceAndName' && key.includes('@') ? key.slice(key.indexOf('@')) : '';
  const values = { KIND: word, NAMESPACE: namespace === '' ? NO_NAMESPACE : namespace, NAME: `${name}${mesh}` };
  return (statusPath ?? 'declared/KIND/NAMESPACE/NAME.yaml').replaceAll(
    /KIND|NAMESPACE|NAME/g,
    (word) => values[word as keyof typeof values],
  );
}

/** Whether the declaration in a file is taken; undefined: the file is not there, as of a source that was not read yet. */
export function acceptedCondition(file: FileValue | undefined, isLastKnownGood = false): ConditionValue {
  const type = 'Accepted';
  if (file === undefined && isLastKnownGood) {
    const message = 'its file cannot be read: the last known good declaration is in force';
    return { type, status: 'Unknown', reason: 'LastKnownGood', message };
  }
  if (file === undefined) return { type, status: 'Unknown', reason: 'NotEntered', message: 'it has not entered yet' };
  const message = file.findings.join('; ');
  if (!file.readable) return { type, status: 'False', reason: 'Invalid', message };
  // What is only warned of takes effect all the same.
  return { type, status: 'True', reason: message === '' ? 'Accepted' : 'AcceptedWithWarnings', message };
}
