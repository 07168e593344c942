import { describeWebhookProblem } from '../../../model/objects/webhooks/describe.ts';
import { isExemptFromConstraints, problemOfWebhook } from '../../../model/objects/webhooks/problematic.ts';
import {
  atMost,
  type Field,
  filledIfSet,
  get,
  inRange,
  invalid,
  isOneOf,
  isSet,
  items,
  mapping,
  report,
  text,
  word,
} from '../shared/field.ts';
import { kindRule } from '../shared/metadata.ts';
import { dnsSubdomainRule, qualifiedNameRule } from '../shared/names.ts';
import { checkLabelSelector } from '../shared/selectors.ts';
import { checkReviewVersions, checkWebhookClient } from '../shared/webhook-client.ts';
import { checkAdmissionRule } from './admission-rules.ts';

const LONGEST_TIMEOUT_SECONDS = 30;
const MOST_CONDITIONS = 64;

/**
 * What an API server checks of a MutatingWebhookConfiguration or a ValidatingWebhookConfiguration, and a warning of webhooks
 * that stand in the way of the cluster itself. The expressions are checked in custom/cel.
 */
export const webhookConfigurationRule = kindRule(dnsSubdomainRule, (root) => {
  const webhooks = items(get(root, 'webhooks'));
  for (const webhook of webhooks) checkWebhook(webhook);
  // After all errors: the problems of an object are limited.
  if (!isExemptFromConstraints(mapping(root) ?? {})) for (const webhook of webhooks) warnOfProblem(webhook);
});

function warnOfProblem(webhook: Field): void {
  const value = mapping(webhook) ?? {};
  const problem = problemOfWebhook(value);
  if (problem === undefined) return;
  const { message, wayOut } = describeWebhookProblem(value, problem);
  report(get(webhook, 'name'), 'ProblematicWebhook', message, { severity: 'warning', hint: wayOut });
}

function checkWebhook(webhook: Field): void {
  const name = get(webhook, 'name');
  const found = word(name);
  if (found !== undefined && (dnsSubdomainRule(found) !== undefined || found.split('.').length < 3)) {
    invalid(name, 'must be a DNS name with at least three parts, like web.webhooks.example.com', { reason: 'BadName' });
  }
  for (const each of items(get(webhook, 'rules'))) checkAdmissionRule(each);
  filledIfSet(...['failurePolicy', 'matchPolicy', 'reinvocationPolicy'].map((name) => get(webhook, name)));
  isOneOf(get(webhook, 'sideEffects'), ['None', 'NoneOnDryRun']);
  inRange(get(webhook, 'timeoutSeconds'), 1, LONGEST_TIMEOUT_SECONDS);
  checkLabelSelector(get(webhook, 'namespaceSelector'));
  checkLabelSelector(get(webhook, 'objectSelector'));
  const client = get(webhook, 'clientConfig');
  if (isSet(client)) checkWebhookClient(client);
  checkReviewVersions(get(webhook, 'admissionReviewVersions'));
  checkMatchConditions(get(webhook, 'matchConditions'));
}

/** Checks the names of conditions, and that they have an expression. */
export function checkMatchConditions(conditions: Field): void {
  atMost(conditions, MOST_CONDITIONS);
  for (const condition of items(conditions)) {
    const name = get(condition, 'name');
    const broken = qualifiedNameRule(word(name) ?? 'none');
    if (broken !== undefined) invalid(name, broken, { reason: 'BadName' });
    checkExpression(get(condition, 'expression'));
  }
}

/** Checks that an expression is not blank. */
export function checkExpression(expression: Field): void {
  if (text(expression)?.trim() === '') invalid(expression, 'must be an expression', { reason: 'MissingField' });
}
