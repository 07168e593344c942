import { Buffer } from 'node:buffer';
import { distinct, type Field, filledIfSet } from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dns1035LabelRule, dnsSubdomainRule } from '../shared/names.ts';
import { checkReviewVersions, checkWebhookClient } from '../shared/webhook-client.ts';
import { schemaRule } from './structural-schemas.ts';

/** What an API server checks of a CustomResourceDefinition beyond its schema. */
export const customResourceDefinitionRule = kindRule(dnsSubdomainRule, (root) => {
  const spec = root.get('spec');
  const names = spec.get('names');
  const group = spec.get('group');
  group.hasForm(dnsSubdomainRule);
  if (group.word?.includes('.') === false) group.invalid('must be a domain with a dot', { reason: 'BadName' });
  checkName(root.getIn('metadata', 'name'), names.get('plural').word, group.word);
  checkApproval(root, group.word ?? '');
  checkNames(names);
  const scope = spec.get('scope');
  if (scope.isSet && !['Cluster', 'Namespaced'].includes(scope.text ?? ''))
    scope.notSupported(['Cluster', 'Namespaced']);
  const unknownFields = spec.get('preserveUnknownFields');
  if (unknownFields.isTrue)
    unknownFields.invalid('must be false', { hint: 'use x-kubernetes-preserve-unknown-fields' });
  checkVersions(spec.get('versions'));
  checkConversion(spec.get('conversion'));
});

function checkName(name: Field, plural: string | undefined, group: string | undefined): void {
  const wanted = plural === undefined || group === undefined ? undefined : `${plural}.${group}`;
  const found = name.word;
  if (wanted === undefined || found === undefined || found === wanted || dnsSubdomainRule(found) !== undefined) return;
  name.invalid(`must be spec.names.plural and spec.group, ${wanted}`, { reason: 'BadName' });
}

const APPROVAL = 'api-approved.kubernetes.io';

/** The groups of the Kubernetes project need the address of a review, or the word `unapproved`. */
function checkApproval(root: Field, group: string): void {
  if (!/(^|\.)(k8s|kubernetes)\.io$/.test(group)) return;
  const annotations = root.getIn('metadata', 'annotations');
  const approval = annotations.get(APPROVAL);
  const hint = `set the annotation ${APPROVAL} to the address of the review`;
  if (approval.word === undefined) {
    const parent = approval.isSet ? approval : annotations.isSet ? annotations : root.get('metadata');
    parent.report('BadDefinition', `the group ${group} belongs to Kubernetes and needs an approval`, { hint });
  } else if (!/^unapproved|^https?:\/\/[^/\s]+/.test(approval.word ?? '')) {
    approval.invalid('must be the address of a review, or begin with "unapproved"');
  }
}

const labelOfKind = (kind: string): string | undefined => dns1035LabelRule(kind.toLowerCase());

function checkNames(names: Field): void {
  const [kind, listKind] = [names.get('kind'), names.get('listKind')];
  for (const name of ['plural', 'singular']) names.get(name).hasForm(dns1035LabelRule);
  for (const name of [kind, listKind]) name.hasForm(labelOfKind);
  for (const list of ['shortNames', 'categories']) {
    filledIfSet(...names.get(list).textItems());
    for (const name of names.get(list).items()) {
      name.hasForm(dns1035LabelRule);
    }
  }
  if (kind.word !== undefined && kind.word === listKind.word)
    listKind.invalid('must not be the kind', { reason: 'BadName' });
}

function checkVersions(versions: Field): void {
  const all = versions.items();
  for (const version of all) {
    version.get('name').hasForm(dns1035LabelRule);
    checkVersion(version);
  }
  distinct(all.map((version) => version.get('name')));
  const stored = all.filter((version) => version.get('storage').isTrue);
  if (versions.isSet && stored.length !== 1) {
    const message = 'exactly one version must have storage: true';
    const [, second] = stored;
    (second === undefined ? versions : second.get('storage')).report('BadDefinition', message);
  }
}

const COLUMN_TYPES = ['integer', 'number', 'string', 'boolean', 'date'];
const COLUMN_FORMATS = ['int32', 'int64', 'float', 'double', 'byte', 'date', 'date-time', 'password'];

function checkVersion(version: Field): void {
  const schema = version.getIn('schema', 'openAPIV3Schema');
  const hasStatus = version.getIn('subresources', 'status').isSet;
  if (schema.mapping !== undefined) schemaRule(schema, hasStatus);
  else if (!schema.isSet)
    schema.required('type: object with x-kubernetes-preserve-unknown-fields: true takes any fields');
  for (const column of version.get('additionalPrinterColumns').items()) {
    pathBelow(column.get('jsonPath'), '.');
    const [type, format] = [column.get('type'), column.get('format')];
    if (type.word !== undefined && !COLUMN_TYPES.includes(type.word ?? '')) type.notSupported(COLUMN_TYPES);
    if (format.word !== undefined && !COLUMN_FORMATS.includes(format.word ?? '')) format.notSupported(COLUMN_FORMATS);
  }
  const scale = version.getIn('subresources', 'scale');
  pathBelow(scale.get('specReplicasPath'), '.spec.');
  pathBelow(scale.get('statusReplicasPath'), '.status.');
  pathBelow(scale.get('labelSelectorPath'), '.spec.', '.status.');
  checkDeprecation(version);
  checkSelectableFields(version.get('selectableFields'));
}

const LONGEST_WARNING = 256;

function checkDeprecation(version: Field): void {
  const warning = version.get('deprecationWarning');
  const found = warning.text;
  if (found === undefined) return;
  if (!version.get('deprecated').isTrue) warning.forbidden('without deprecated: true');
  else if (found === '') warning.required();
  else if (Buffer.byteLength(found) > LONGEST_WARNING)
    warning.invalid(`must have at most ${LONGEST_WARNING} characters`);
  else if (/\p{Cc}/u.test(found)) warning.invalid('must be one line of printable characters');
}

const MOST_SELECTABLE_FIELDS = 8;

function checkSelectableFields(fields: Field): void {
  const paths = fields.items().map((field) => field.get('jsonPath'));
  for (const path of paths) {
    pathBelow(path, '.');
    if (path.word?.startsWith('.metadata') === true) path.invalid('must not be a field of the metadata');
  }
  distinct(paths, 'DuplicateValue');
  fields.atMost(MOST_SELECTABLE_FIELDS);
}

function pathBelow(path: Field, ...prefixes: readonly string[]): void {
  const found = path.word;
  if (found === undefined || prefixes.some((prefix) => found.startsWith(prefix))) return;
  path.invalid(`must begin with ${prefixes.join(' or ')}`);
}

function checkConversion(conversion: Field): void {
  const strategy = conversion.get('strategy');
  const webhook = conversion.get('webhook');
  if (strategy.word !== undefined && !['None', 'Webhook'].includes(strategy.word ?? '')) {
    strategy.notSupported(['None', 'Webhook']);
  } else if (strategy.word === 'Webhook') {
    const config = webhook.get('clientConfig');
    if (!webhook.isSet) webhook.required();
    else {
      if (config.isSet) checkWebhookClient(config);
      else config.required();
      checkReviewVersions(webhook.get('conversionReviewVersions'));
    }
  } else if (webhook.isSet) {
    webhook.forbidden('without strategy: Webhook');
  }
}
