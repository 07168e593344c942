import type { JsonValue } from '../../../model/text/json.ts';
import {
  type Field,
  get,
  hasForm,
  invalid,
  isTrue,
  items,
  members,
  nameOf,
  type ObjectRule,
  report,
  rule,
  text,
  word,
} from './field.ts';
import { dnsLabelRule, dnsSubdomainRule, qualifiedNameRule } from './names.ts';

/** A form of names: returns the rule that a text breaks. */
export type NameRule = (name: string) => string | undefined;

/** Finalizers without a domain that the garbage collector and namespaces know. */
const STANDARD_FINALIZERS: readonly string[] = ['kubernetes', 'orphan', 'foregroundDeletion'];

/** Of keys and values together, in bytes. */
const MAX_ANNOTATION_BYTES = 256 * 1024;

/** Makes the rule of a kind: its metadata, with the form of its names, and what is its own. */
export function kindRule(nameRule: NameRule, check?: (root: Field) => void): ObjectRule {
  return rule((root) => {
    checkObjectMeta(root, nameRule);
    check?.(root);
  });
}

/**
 * Checks the metadata of an object, apart from its labels and the keys of its annotations, which are checked for all objects
 * of a repository.
 */
export function checkObjectMeta(root: Field, nameRule: NameRule = dnsSubdomainRule): void {
  const metadata = get(root, 'metadata');
  hasForm(get(metadata, 'name'), nameRule);
  if (DNS_RULES.has(nameRule)) hasForm(get(metadata, 'generateName'), (prefix) => nameRule(asName(prefix)));
  checkAnnotationSize(get(metadata, 'annotations'));
  checkFinalizers(get(metadata, 'finalizers'));
  checkOwners(get(metadata, 'ownerReferences'));
}

/** The other forms are checked of whole names only. */
const DNS_RULES: ReadonlySet<NameRule> = new Set([dnsLabelRule, dnsSubdomainRule]);

/** A prefix of names as an API server checks it: the last dash is followed by generated letters. */
export function asName(prefix: string): string {
  return prefix.length > 1 && prefix.endsWith('-') ? `${prefix.slice(0, -2)}a` : prefix;
}

function checkAnnotationSize(annotations: Field): void {
  let bytes = 0;
  for (const annotation of members(annotations)) {
    bytes += Buffer.byteLength(annotation.step) + Buffer.byteLength(text(annotation) ?? '');
  }
  if (bytes <= MAX_ANNOTATION_BYTES) return;
  const message = `the annotations have ${bytes} bytes; at most ${MAX_ANNOTATION_BYTES} are allowed`;
  report(annotations, 'BadAnnotation', message, { hint: 'keep large data in a ConfigMap', atKey: true });
}

function checkFinalizers(finalizers: Field): void {
  for (const finalizer of items(finalizers)) {
    const name = text(finalizer);
    if (name === undefined) continue;
    const broken = qualifiedNameRule(name);
    if (broken !== undefined) invalid(finalizer, broken, { reason: 'BadName' });
    else if (!name.includes('/') && !STANDARD_FINALIZERS.includes(name)) {
      invalid(finalizer, 'must have a domain before it, like "example.com/finalizer"', { reason: 'BadName' });
    }
  }
}

function checkOwners(owners: Field): void {
  let controllerUid: JsonValue | undefined;
  for (const owner of items(owners)) {
    const controller = get(owner, 'controller');
    if (!isTrue(controller)) continue;
    const { value: uid = null } = get(owner, 'uid');
    // The API server leaves out a reference that is there twice.
    if (controllerUid !== undefined && controllerUid !== uid) {
      report(controller, 'WrongChoice', `${nameOf(owners)} has more than one controller`);
    }
    controllerUid = uid;
  }
  const isEvent = items(owners).find((owner) => word(get(owner, 'kind')) === 'Event');
  if (isEvent !== undefined) invalid(get(isEvent, 'kind'), 'must not be Event, which owns nothing');
}
