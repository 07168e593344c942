import { didYouMean, type FieldProblem } from '../../manifest/problem.ts';
import type { FindingReason } from '../../model/fleet/diagnostic.ts';
import { type LabelSelector, matchesLabels } from '../../model/objects/label-selector.ts';
import { kindOf, kindWithoutGroup, objectRefOf, parseApiVersion } from '../../model/objects/object-key.ts';
import { compareText, type JsonObject, textOf } from '../../model/text/json.ts';
import { given } from '../../model/values/given.ts';
import { type Field, rootOf } from '../rules/shared/field.ts';
import type { DeclaredObject, DeclaredObjects, LabelIndex } from './declared.ts';
import { type ObjectFacts, parseReferenceId, selectorIn } from './facts.ts';
import {
  CLUSTER_ROLE,
  CONFIG_MAP,
  PRIORITY_CLASS,
  type Reference,
  ROLE,
  referencesIn,
  SECRET,
  SERVICE,
  SERVICE_ACCOUNT,
  type Selection,
  selectedBy,
  selectionsIn,
  targetPortsIn,
  VOLUME_CLAIM,
} from './object-references.ts';

/** Finds references to what no document declares. */
export interface ReferenceCheck {
  /** Whether {@link problemsOf} may find something. Cheap: it needs no object. */
  isSuspect(facts: ObjectFacts): boolean;
  /** Warnings, at the names, keys, ports and selectors at fault. */
  problemsOf(object: JsonObject): readonly FieldProblem[];
}

/** How a reference check judges. */
interface ReferenceOptions {
  /** Some files could not be read or belong to other tools: an object that no document declares may be in one of them. */
  readonly isPartial: boolean;
}

/** Makes the check of references among the documents of some files. */
export function createReferenceCheck(declared: DeclaredObjects, { isPartial }: ReferenceOptions): ReferenceCheck {
  const faultOf = (reference: Pick<Reference, 'kind' | 'namespace' | 'name'>, part: string | undefined) => {
    const { kind, namespace, name } = reference;
    const found = declared.find(kind, namespace, name);
    if (found === undefined) {
      if (isPartial || isElsewhere(reference, declared) || declared.mayBeMade(kind, namespace, name)) return undefined;
      return { type: 'object' } as const;
    }
    if (part === undefined || found.parts.some(({ names, isOpen }) => isOpen || names.has(part))) return undefined;
    if (kind !== SERVICE && declared.mayBeWritten(kind, namespace)) return undefined;
    return { type: 'part', ...found } as const;
  };
  const selectsNothing = (
    of: Selection['selects'],
    namespace: string,
    selector: LabelSelector,
  ): LabelIndex | undefined => {
    if (isPartial || SYSTEM_NAMESPACES.has(namespace)) return undefined;
    const usual = withoutAddedLabels(selector);
    const among = declared.labelled(of, of === 'Services' ? '' : namespace);
    if (among.isEmpty || among.hasMatch(usual)) return undefined;
    if (of === 'Pods' && declared.mayBeWritten('/Pod', namespace)) return undefined;
    const values = Object.values(usual.matchLabels);
    // A controller makes Pods with the labels that its object names.
    return values.length > 0 && values.every((value) => declared.isMentioned(namespace, value)) ? undefined : among;
  };
  const selectedPorts = isPartial ? () => undefined : createSelectedPorts(declared);
  return {
    isSuspect: ({ key, refers = [], selector, ports = [] }) => {
      const isAtFault = (id: string): boolean => {
        if (declared.has(id)) return false;
        const { part, ...reference } = parseReferenceId(id);
        return faultOf(reference, part) !== undefined;
      };
      if (refers.some(isAtFault)) return true;
      if (selector === undefined) return false;
      const { kind, namespace } = objectRefOf(key);
      const selected = kind === 'Service' && ports.length > 0 ? selectedPorts(namespace, selector) : undefined;
      if (selected !== undefined && ports.some((name) => !selected.has(name))) return true;
      return selectsNothing(selectedBy(kindOf(key)), namespace, selector) !== undefined;
    },
    problemsOf: (object) => {
      const version = parseApiVersion(textOf(object.apiVersion));
      if (!version.ok) return [];
      const root = rootOf(object);
      const kind = `${version.value.group}/${textOf(object.kind)}`;
      const problems: FieldProblem[] = [];
      for (const reference of referencesIn(kind, root)) {
        if (reference.isOptional === true) continue;
        const fault = faultOf(reference, reference.part?.name);
        if (fault?.type === 'object') problems.push(unknownObject(reference, declared));
        if (fault?.type === 'part') problems.push(unknownPart(reference, fault));
      }
      for (const { field, selects, isPlain } of selectionsIn(kind, root)) {
        const selector = selectorIn(field, isPlain);
        const namespace = textOf(root.get('metadata').get('namespace').value);
        const among = selector && selectsNothing(selects, namespace, selector);
        if (selector !== undefined && among !== undefined) {
          problems.push(emptySelection({ field, selects, isPlain }, selector, namespace, among));
        }
        const targets = selector === undefined ? [] : targetPortsIn(kind, root);
        const selected = selector !== undefined && targets.length > 0 ? selectedPorts(namespace, selector) : undefined;
        if (selected !== undefined) problems.push(...targets.flatMap((port) => unknownTarget(port, selected)));
      }
      return distinct(problems);
    },
  };
}

/**
 * Makes the function that returns the names of the ports of the Pods that a Service selects; undefined: none is declared, or
 * another program may make more.
 */
function createSelectedPorts(declared: DeclaredObjects) {
  return (namespace: string, selector: LabelSelector): ReadonlySet<string> | undefined => {
    if (SYSTEM_NAMESPACES.has(namespace)) return undefined;
    const usual = withoutAddedLabels(selector);
    const among = declared.labelled('Pods', namespace);
    if (!among.hasMatch(usual) || declared.mayBeWritten('/Pod', namespace)) return undefined;
    const isMade = Object.values(usual.matchLabels).every((value) => declared.isMentioned(namespace, value));
    return isMade ? undefined : among.portsOf(usual);
  };
}

/** Several keys of one unknown object give one finding. */
function distinct(problems: readonly FieldProblem[]): readonly FieldProblem[] {
  return [...new Map(problems.map((problem) => [JSON.stringify([problem.path, problem.message]), problem])).values()];
}

/** The namespaces in which the cluster itself has objects. */
const SYSTEM_NAMESPACES: ReadonlySet<string> = new Set(['kube-system', 'kube-public', 'kube-node-lease']);

/** The objects that every cluster has, by kind. */
const EVERYWHERE: Readonly<Record<string, RegExp>> = {
  [CONFIG_MAP]: /^(?:kube-root-ca\.crt|openshift-service-ca\.crt)$/,
  [SERVICE_ACCOUNT]: /^default$/,
  [CLUSTER_ROLE]: /^(?:system:.*|cluster-admin|admin|edit|view)$/,
  [ROLE]: /^system:/,
  [PRIORITY_CLASS]: /^system-(?:cluster|node)-critical$/,
  [SERVICE]: /^kubernetes$/,
};

/** Whether something else than the files declares the object. */
function isElsewhere(
  { kind, namespace, name }: Pick<Reference, 'kind' | 'namespace' | 'name'>,
  declared: DeclaredObjects,
): boolean {
  if (EVERYWHERE[kind]?.test(name) === true || SYSTEM_NAMESPACES.has(namespace)) return true;
  return namespace !== '' && !declared.hasNamespace(namespace);
}

const UNKNOWN: Readonly<Record<string, FindingReason>> = {
  [CONFIG_MAP]: 'UnknownConfigMap',
  [SECRET]: 'UnknownSecret',
  [SERVICE]: 'UnknownService',
  [SERVICE_ACCOUNT]: 'UnknownServiceAccount',
  [VOLUME_CLAIM]: 'UnknownVolumeClaim',
  [PRIORITY_CLASS]: 'UnknownPriorityClass',
  [ROLE]: 'UnknownRole',
  [CLUSTER_ROLE]: 'UnknownRole',
};

const PART: Readonly<Record<string, { readonly reason: FindingReason; readonly word: string }>> = {
  [CONFIG_MAP]: { reason: 'UnknownConfigMapKey', word: 'key' },
  [SECRET]: { reason: 'UnknownSecretKey', word: 'key' },
  [SERVICE]: { reason: 'UnknownServicePort', word: 'port' },
};

function unknownObject(reference: Reference, declared: DeclaredObjects): FieldProblem {
  const { field, kind, namespace, name } = reference;
  const hint = nearest(name, declared.namesOf(kind, namespace, MOST_COMPARED));
  const message = `no document that was read declares ${titleOf(reference)}`;
  return warning(UNKNOWN[kind] ?? 'UnknownScaleTarget', field, message, hint);
}

function unknownPart({ field, kind, namespace, name, part }: Reference, { path, parts }: DeclaredObject): FieldProblem {
  const { reason, word } = PART[kind] ?? { reason: 'UnknownReference', word: 'part' };
  const wanted = part?.name ?? '';
  const count = parts.reduce((sum, { names }) => sum + names.size, 0);
  // A list for each of many references would take time in proportion to both.
  const all = count > MOST_COMPARED ? [] : [...new Set(parts.flatMap(({ names }) => [...names]))].sort(compareText);
  const known =
    count > MOST_COMPARED ? `${count} others` : all.length > MOST_NAMED ? `${all.length} others` : all.join(', ');
  const message = `${titleOf({ kind, namespace, name })} in ${path} has no ${word} ${wanted}, but ${known}`;
  return warning(reason, part?.field ?? field, message, nearest(wanted, all));
}

function unknownTarget(port: Field, selected: ReadonlySet<string>): readonly FieldProblem[] {
  const name = String(port.value);
  if (selected.has(name)) return [];
  const known = [...selected].sort(compareText);
  const which = known.length === 0 ? '; none has a name' : known.length > MOST_NAMED ? '' : `, but ${known.join(', ')}`;
  const message = `no container of the selected Pods has a port ${name}${which}`;
  return [warning('UnknownTargetPort', port, message, nearest(name, known))];
}

const MOST_NAMED = 10;
/** Of many Pods the first ones show which label differs. */
const MOST_LABELS = 500;

/** Among very many names each suggestion would cost much, and there would be one for anything. */
const MOST_COMPARED = 200;

function nearest(name: string, known: readonly string[]): string | undefined {
  return known.length > MOST_COMPARED ? undefined : didYouMean(name, known);
}

function emptySelection(
  { field, selects, isPlain }: Selection,
  selector: LabelSelector,
  namespace: string,
  among: LabelIndex,
): FieldProblem {
  const reason = selects === 'Pods' ? 'SelectsNoPods' : 'SelectsNoServices';
  const where = selects === 'Services' || namespace === '' ? '' : ` of namespace ${namespace}`;
  const what = selects === 'Pods' ? 'no Pod template' : 'no Service';
  const labels = isPlain ? field : field.get('matchLabels');
  // The label without which the selector would match.
  for (const [key, value] of Object.entries(selector.matchLabels)) {
    const { [key]: _left, ...others } = selector.matchLabels;
    const rest = { ...selector, matchLabels: others };
    if (Object.keys(others).length === 0 && selector.matchExpressions.length === 0) {
      if (!among.first(MOST_LABELS).some((each) => Object.hasOwn(each, key))) continue;
    } else if (!among.hasMatch(rest)) continue;
    const values = among
      .first(MOST_LABELS)
      .filter((each) => matchesLabels(rest, each))
      .flatMap((each) => each[key] ?? []);
    const message = `${what}${where} has the label ${key}: ${value}, so nothing is selected`;
    return warning(reason, labels.get(key), message, nearest(value, [...new Set(values)]));
  }
  return warning(reason, field, `the selector matches ${what}${where} that was read`, undefined);
}

/** Labels that controllers add to Pods. */
const ADDED_LABELS: ReadonlySet<string> = new Set([
  'apps.kubernetes.io/pod-index',
  'batch.kubernetes.io/controller-uid',
  'batch.kubernetes.io/job-completion-index',
  'batch.kubernetes.io/job-name',
  'controller-revision-hash',
  'controller-uid',
  'job-name',
  'pod-template-generation',
  'pod-template-hash',
  'statefulset.kubernetes.io/pod-name',
]);

function withoutAddedLabels({ matchLabels, matchExpressions }: LabelSelector): LabelSelector {
  return {
    matchLabels: Object.fromEntries(Object.entries(matchLabels).filter(([key]) => !ADDED_LABELS.has(key))),
    matchExpressions: matchExpressions.filter(({ key }) => !ADDED_LABELS.has(key)),
  };
}

function titleOf({ kind, namespace, name }: Pick<Reference, 'kind' | 'namespace' | 'name'>): string {
  const short = kindWithoutGroup(kind);
  return `${short} ${namespace === '' ? '' : `${namespace}/`}${name}`;
}

function warning(reason: FindingReason, field: Field, message: string, hint: string | undefined): FieldProblem {
  return { severity: 'warning', reason, path: field.path, message, ...given({ hint }) };
}
