import { Buffer } from 'node:buffer';
import {
  atMost,
  distinct,
  type Field,
  filledIfSet,
  forbidden,
  get,
  getIn,
  hasForm,
  invalid,
  isSet,
  isTrue,
  items,
  mapping,
  notSupported,
  report,
  required,
  text,
  textItems,
  word,
} from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dns1035LabelRule, dnsSubdomainRule } from '../shared/names.ts';
import { checkReviewVersions, checkWebhookClient } from '../shared/webhook-client.ts';
import { schemaRule } from './structural-schemas.ts';

/** What an API server checks of a CustomResourceDefinition beyond its schema. */
export const customResourceDefinitionRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = get(root, 'spec');
  const names = get(spec, 'names');
  const group = get(spec, 'group');
  hasForm(group, dnsSubdomainRule);
  if (word(group)?.includes('.') === false) invalid(group, 'must be a domain with a dot', { reason: 'BadName' });
  checkName(getIn(root, 'metadata', 'name'), word(get(names, 'plural')), word(group));
  checkApproval(root, word(group) ?? '');
  checkNames(names);
  const scope = get(spec, 'scope');
  if (isSet(scope) && !['Cluster', 'Namespaced'].includes(text(scope) ?? ''))
    notSupported(scope, ['Cluster', 'Namespaced']);
  const unknownFields = get(spec, 'preserveUnknownFields');
  if (isTrue(unknownFields))
    invalid(unknownFields, 'must be false', { hint: 'use x-kubernetes-preserve-unknown-fields' });
  checkVersions(get(spec, 'versions'));
  checkConversion(get(spec, 'conversion'));
});

function checkName(name: Field, plural: string | undefined, group: string | undefined): void {
  const wanted = plural === undefined || group === undefined ? undefined : `${plural}.${group}`;
  const found = word(name);
  if (wanted === undefined || found === undefined || found === wanted || dnsSubdomainRule(found) !== undefined) return;
  invalid(name, `must be spec.names.plural and spec.group, ${wanted}`, { reason: 'BadName' });
}

const APPROVAL = 'api-approved.kubernetes.io';

/** The groups of the Kubernetes project need the address of a review, or the word `unapproved`. */
function checkApproval(root: Field, group: string): void {
  if (!/(^|\.)(k8s|kubernetes)\.io$/.test(group)) return;
  const annotations = getIn(root, 'metadata', 'annotations');
  const approval = get(annotations, APPROVAL);
  const hint = `set the annotation ${APPROVAL} to the address of the review`;
  if (word(approval) === undefined) {
    const parent = isSet(approval) ? approval : isSet(annotations) ? annotations : get(root, 'metadata');
    report(parent, 'BadDefinition', `the group ${group} belongs to Kubernetes and needs an approval`, { hint });
  } else if (!/^unapproved|^https?:\/\/[^/\s]+/.test(word(approval) ?? '')) {
    invalid(approval, 'must be the address of a review, or begin with "unapproved"');
  }
}

const labelOfKind = (kind: string): string | undefined => dns1035LabelRule(kind.toLowerCase());

function checkNames(names: Field): void {
  const [kind, listKind] = [get(names, 'kind'), get(names, 'listKind')];
  for (const name of ['plural', 'singular']) hasForm(get(names, name), dns1035LabelRule);
  for (const name of [kind, listKind]) hasForm(name, labelOfKind);
  for (const list of ['shortNames', 'categories']) {
    filledIfSet(...textItems(get(names, list)));
    for (const name of items(get(names, list))) {
      hasForm(name, dns1035LabelRule);
    }
  }
  if (word(kind) !== undefined && word(kind) === word(listKind))
    invalid(listKind, 'must not be the kind', { reason: 'BadName' });
}

function checkVersions(versions: Field): void {
  const all = items(versions);
  for (const version of all) {
    hasForm(get(version, 'name'), dns1035LabelRule);
    checkVersion(version);
  }
  distinct(all.map((version) => get(version, 'name')));
  const stored = all.filter((version) => isTrue(get(version, 'storage')));
  if (isSet(versions) && stored.length !== 1) {
    const message = 'exactly one version must have storage: true';
    const [, second] = stored;
    report(second === undefined ? versions : get(second, 'storage'), 'BadDefinition', message);
  }
}

const COLUMN_TYPES = ['integer', 'number', 'string', 'boolean', 'date'];
const COLUMN_FORMATS = ['int32', 'int64', 'float', 'double', 'byte', 'date', 'date-time', 'password'];

function checkVersion(version: Field): void {
  const schema = getIn(version, 'schema', 'openAPIV3Schema');
  const hasStatus = isSet(getIn(version, 'subresources', 'status'));
  if (mapping(schema) !== undefined) schemaRule(schema, hasStatus);
  else if (!isSet(schema))
    required(schema, 'type: object with x-kubernetes-preserve-unknown-fields: true takes any fields');
  for (const column of items(get(version, 'additionalPrinterColumns'))) {
    pathBelow(get(column, 'jsonPath'), '.');
    const [type, format] = [get(column, 'type'), get(column, 'format')];
    if (word(type) !== undefined && !COLUMN_TYPES.includes(word(type) ?? '')) notSupported(type, COLUMN_TYPES);
    if (word(format) !== undefined && !COLUMN_FORMATS.includes(word(format) ?? ''))
      notSupported(format, COLUMN_FORMATS);
  }
  const scale = getIn(version, 'subresources', 'scale');
  pathBelow(get(scale, 'specReplicasPath'), '.spec.');
  pathBelow(get(scale, 'statusReplicasPath'), '.status.');
  pathBelow(get(scale, 'labelSelectorPath'), '.spec.', '.status.');
  checkDeprecation(version);
  checkSelectableFields(get(version, 'selectableFields'));
}

const LONGEST_WARNING = 256;

function checkDeprecation(version: Field): void {
  const warning = get(version, 'deprecationWarning');
  const found = text(warning);
  if (found === undefined) return;
  if (!isTrue(get(version, 'deprecated'))) forbidden(warning, 'without deprecated: true');
  else if (found === '') required(warning);
  else if (Buffer.byteLength(found) > LONGEST_WARNING)
    invalid(warning, `must have at most ${LONGEST_WARNING} characters`);
  else if (/\p{Cc}/u.test(found)) invalid(warning, 'must be one line of printable characters');
}

const MOST_SELECTABLE_FIELDS = 8;

function checkSelectableFields(fields: Field): void {
  const paths = items(fields).map((field) => get(field, 'jsonPath'));
  for (const path of paths) {
    pathBelow(path, '.');
    if (word(path)?.startsWith('.metadata') === true) invalid(path, 'must not be a field of the metadata');
  }
  distinct(paths, 'DuplicateValue');
  atMost(fields, MOST_SELECTABLE_FIELDS);
}

function pathBelow(path: Field, ...prefixes: readonly string[]): void {
  const found = word(path);
  if (found === undefined || prefixes.some((prefix) => found.startsWith(prefix))) return;
  invalid(path, `must begin with ${prefixes.join(' or ')}`);
}

function checkConversion(conversion: Field): void {
  const strategy = get(conversion, 'strategy');
  const webhook = get(conversion, 'webhook');
  if (word(strategy) !== undefined && !['None', 'Webhook'].includes(word(strategy) ?? '')) {
    notSupported(strategy, ['None', 'Webhook']);
  } else if (word(strategy) === 'Webhook') {
    const config = get(webhook, 'clientConfig');
    if (!isSet(webhook)) required(webhook);
    else {
      if (isSet(config)) checkWebhookClient(config);
      else required(config);
      checkReviewVersions(get(webhook, 'conversionReviewVersions'));
    }
  } else if (isSet(webhook)) {
    forbidden(webhook, 'without strategy: Webhook');
  }
}
