import type { Condition, ConditionValue } from '../../model/fleet/conditions.ts';
import { type EngineKind, engineKindRow, isEngineKind } from '../../model/fleet/engine-kinds.ts';
import type { Origin } from '../../model/fleet/output.ts';
import { namespaceSegment, pathSegment } from '../../model/fleet/status-path.ts';
import type { JsonObject } from '../../model/text/json.ts';
import { counted } from '../../model/text/messages.ts';
import type { Collection, Derived, Graph, Index } from '../collections/types.ts';
import type { Declarations, Declared } from '../fleet/declared.ts';
import type { FileValue } from '../inputs.ts';
import { type LostWant, lostTo, subjectOfDocument } from '../output/lost-wants.ts';

/** The status of an object of an engine kind from one domain. Partition: the id of its kind. Key: its declaration's. */
export interface StatusPart {
  readonly conditions: readonly ConditionValue[];
  /** Conditions that others write: a file has them too, and a custom resource keeps them by itself. */
  readonly othersConditions?: readonly Condition[];
  /** Other fields of the status. */
  readonly fields: JsonObject;
  /** Further lists of conditions, by field, such as a Shoot's `constraints`. */
  readonly conditionLists?: Readonly<Record<string, readonly ConditionValue[]>>;
  /** Members of the status that get `lastUpdateTime`, or whose items do; it changes only when something else in them does. */
  readonly timedFields?: Readonly<Record<string, JsonObject | readonly JsonObject[]>>;
  /** Moments in the status, RFC 3339; null: the moment of writing. */
  readonly moments?: Readonly<Record<string, string | null>>;
  /** Fields that the status must not have any more. */
  readonly absentFields?: readonly string[];
  /** Others write the whole status: nothing of it is written. */
  readonly isOfOthers?: true;
  /** Labels that the object should have. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Annotations to remove from the object, each with the value that was handled. An annotation with another value stays. */
  readonly removeAnnotations?: Readonly<Record<string, string>>;
  /** For an object that no source declares; absent: its declaration has both. */
  readonly subject?: { readonly namespace: string; readonly name: string };
}

/** The complete status of an object of an engine kind, for the status branch and for custom resources. Same addresses. */
export interface DeclaredStatus extends Omit<StatusPart, 'subject'> {
  readonly kind: EngineKind;
  /** Empty: the object has none. */
  readonly namespace: string;
  readonly name: string;
  /** What contains an object in the universal form. */
  readonly mesh?: string;
  /** Its file on the status branch. */
  readonly path: string;
  /** Of the declaration in force; absent: no source declares the object. */
  readonly origin?: Origin;
}

/** Joins the declarations with their statuses. Adds the condition `Accepted`, and says which objects another domain makes instead. */
export function deriveStatuses(
  graph: Graph,
  declarations: Declarations,
  files: Collection<FileValue>,
  parts: readonly Derived<StatusPart>[],
  lostWants: Index<LostWant>,
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
    reads: [files, lostWants],
    seesAll: true,
    compute: ({ partition: kind, key, left: declared, right: part }, read, emit) => {
      if (!isEngineKind(kind)) throw new Error(`${kind} is no kind that the engine reads`);
      const { subject, conditions = [], fields = {}, ...rest } = part ?? {};
      const { namespace, name } = declared ?? subject ?? {};
      if (namespace === undefined || name === undefined) return;
      const parent = parentOf(kind, key, { namespace, name });
      const path = statusPathOf(kind, key, { namespace, name });
      const identity = { kind, namespace, name, ...(parent === undefined ? {} : { mesh: parent }), path };
      if (declared === undefined) {
        emit(kind, key, { ...identity, conditions, fields, ...rest });
        return;
      }
      const { origin, refusal } = declared;
      const accepted: ConditionValue =
        refusal === undefined
          ? acceptedCondition(read.get(files, origin.source, origin.path), declared.isLastKnownGood)
          : { type: 'Accepted', status: 'False', reason: refusal.reason, message: refusal.message };
      // What is read is remembered for each declaration: only a kind with this condition can say it.
      const lost = engineKindRow(kind).ownConditions.includes('Ready')
        ? read.members(lostWants, subjectOfDocument(origin.source, origin.path, declared.identity))
        : [];
      const said =
        lost.length === 0
          ? conditions
          : withLost(
              kind,
              conditions,
              lost.map(({ value }) => value),
            );
      const all = engineKindRow(kind).hasNoAccepted === true ? said : [accepted, ...said];
      emit(kind, key, { ...identity, origin, conditions: all, fields, ...rest });
    },
  });
}

/** The conditions of a declaration some of whose objects another domain makes. */
function withLost(
  kind: EngineKind,
  conditions: readonly ConditionValue[],
  lost: readonly LostWant[],
): readonly ConditionValue[] {
  const own = engineKindRow(kind).ownConditions;
  const [first] = lost;
  if (first === undefined) return conditions;
  const message =
    lost.length === 1 ? lostTo(first) : `${lostTo(first)}, and ${counted(lost.length - 1, 'other object')} too`;
  const said = (
    [
      ['Ready', 'False'],
      ['Stalled', 'True'],
    ] as const
  ).map(([type, status]): ConditionValue => ({ type, status, reason: 'NameTaken', message }));
  const told = said.filter(({ type }) => own.includes(type));
  return [...conditions.filter(({ type }) => !told.some((each) => each.type === type)), ...told];
}

/** The file on the status branch of the declaration of this kind and key. */
export function statusPathOf(
  kind: EngineKind,
  key: string,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): string {
  const { statusPath = 'declared/KIND/NAMESPACE/NAME.yaml', universal, kind: word } = engineKindRow(kind);
  const parent = parentOf(kind, key, { namespace, name });
  const values = {
    KIND: word,
    NAMESPACE: namespaceSegment(namespace),
    NAME: pathSegment(name),
    PARENT: pathSegment(parent ?? ''),
  };
  return (parent === undefined ? statusPath : (universal?.statusPath ?? statusPath)).replaceAll(
    /KIND|NAMESPACE|NAME|PARENT/g,
    (word) => values[word as keyof typeof values],
  );
}

/** What contains the object of a declaration in the universal form, from its key; undefined: it has another form. */
function parentOf(
  kind: EngineKind,
  key: string,
  { namespace, name }: Pick<DeclaredStatus, 'namespace' | 'name'>,
): string | undefined {
  if (engineKindRow(kind).universal === undefined) return undefined;
  const inNamespace = namespace === '' ? name : `${namespace}/${name}`;
  return key.startsWith(`${inNamespace}@`) ? key.slice(inNamespace.length + 1) : undefined;
}

/** The condition `Accepted` of a declaration in a file; undefined: the file is not known, for example before the first read. */
export function acceptedCondition(file: FileValue | undefined, isLastKnownGood = false): ConditionValue {
  const type = 'Accepted';
  if (file === undefined && isLastKnownGood) {
    const message = 'its file cannot be read: the last known good declaration is in force';
    return { type, status: 'Unknown', reason: 'LastKnownGood', message };
  }
  if (file === undefined) return { type, status: 'Unknown', reason: 'NotEntered', message: 'it has not entered yet' };
  const message = file.findings.join('; ');
  if (!file.readable) return { type, status: 'False', reason: 'Invalid', message };
  // A file with warnings takes effect.
  return { type, status: 'True', reason: message === '' ? 'Accepted' : 'AcceptedWithWarnings', message };
}
