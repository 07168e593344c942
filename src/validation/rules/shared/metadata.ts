import type { JsonValue } from '../../../model/text/json.ts';
import { type Field, type ObjectRule, rule } from './field.ts';
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
  const metadata = root.get('metadata');
  metadata.get('name').hasForm(nameRule);
  if (DNS_RULES.has(nameRule)) metadata.get('generateName').hasForm((prefix) => nameRule(asName(prefix)));
  checkAnnotationSize(metadata.get('annotations'));
  checkFinalizers(metadata.get('finalizers'));
  checkOwners(metadata.get('ownerReferences'));
}

/** The other forms are checked of whole names only. */
const DNS_RULES: ReadonlySet<NameRule> = new Set([dnsLabelRule, dnsSubdomainRule]);

/** A prefix of names as an API server checks it: the last dash is followed by generated letters. */
export function asName(prefix: string): string {
  return prefix.length > 1 && prefix.endsWith('-') ? `${prefix.slice(0, -2)}a` : prefix;
}

function checkAnnotationSize(annotations: Field): void {
  let bytes = 0;
  for (const annotation of annotations.members()) {
    bytes += Buffer.byteLength(annotation.step) + Buffer.byteLength(annotation.text ?? '');
  }
  if (bytes <= MAX_ANNOTATION_BYTES) return;
  const message = `the annotations have ${bytes} bytes; at most ${MAX_ANNOTATION_BYTES} are allowed`;
  annotations.report('BadAnnotation', message, { hint: 'keep large data in a ConfigMap', atKey: true });
}

function checkFinalizers(finalizers: Field): void {
  for (const finalizer of finalizers.items()) {
    const name = finalizer.text;
    if (name === undefined) continue;
    const broken = qualifiedNameRule(name);
    if (broken !== undefined) finalizer.invalid(broken, { reason: 'BadName' });
    else if (!name.includes('/') && !STANDARD_FINALIZERS.includes(name)) {
      finalizer.invalid('must have a domain before it, like "example.com/finalizer"', { reason: 'BadName' });
    }
  }
}

function checkOwners(owners: Field): void {
  let controllerUid: JsonValue | undefined;
  for (const owner of owners.items()) {
    const controller = owner.get('controller');
    if (!controller.isTrue) continue;
    const { value: uid = null } = owner.get('uid');
    // The API server leaves out a reference that is there twice.
    if (controllerUid !== undefined && controllerUid !== uid) {
      controller.report('WrongChoice', `${owners.name} has more than one controller`);
    }
    controllerUid = uid;
  }
  const isEvent = owners.items().find((owner) => owner.get('kind').word === 'Event');
  if (isEvent !== undefined) isEvent.get('kind').invalid('must not be Event, which owns nothing');
}
