import { describeWebhookProblem } from '../../../model/objects/webhooks/describe.ts';
import { isExemptFromConstraints, problemOfWebhook } from '../../../model/objects/webhooks/problematic.ts';
import { type Field, filledIfSet } from '../shared/field.ts';
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
  const webhooks = root.get('webhooks').items();
  for (const webhook of webhooks) checkWebhook(webhook);
  // After all errors: the problems of an object are limited.
  if (!isExemptFromConstraints(root.mapping ?? {})) for (const webhook of webhooks) warnOfProblem(webhook);
});

function warnOfProblem(webhook: Field): void {
  const value = webhook.mapping ?? {};
  const problem = problemOfWebhook(value);
  if (problem === undefined) return;
  const { message, wayOut } = describeWebhookProblem(value, problem);
  webhook.get('name').report('ProblematicWebhook', message, { severity: 'warning', hint: wayOut });
}

function checkWebhook(webhook: Field): void {
  const name = webhook.get('name');
  const found = name.word;
  if (found !== undefined && (dnsSubdomainRule(found) !== undefined || found.split('.').length < 3)) {
    name.invalid('must be a DNS name with at least three parts, like web.webhooks.example.com', { reason: 'BadName' });
  }
  for (const each of webhook.get('rules').items()) checkAdmissionRule(each);
  filledIfSet(...['failurePolicy', 'matchPolicy', 'reinvocationPolicy'].map((name) => webhook.get(name)));
  webhook.get('sideEffects').isOneOf(['None', 'NoneOnDryRun']);
  webhook.get('timeoutSeconds').inRange(1, LONGEST_TIMEOUT_SECONDS);
  checkLabelSelector(webhook.get('namespaceSelector'));
  checkLabelSelector(webhook.get('objectSelector'));
  const client = webhook.get('clientConfig');
  if (client.isSet) checkWebhookClient(client);
  checkReviewVersions(webhook.get('admissionReviewVersions'));
  checkMatchConditions(webhook.get('matchConditions'));
}

/** Checks the names of conditions, and that they have an expression. */
export function checkMatchConditions(conditions: Field): void {
  conditions.atMost(MOST_CONDITIONS);
  for (const condition of conditions.items()) {
    const name = condition.get('name');
    const broken = qualifiedNameRule(name.word ?? 'none');
    if (broken !== undefined) name.invalid(broken, { reason: 'BadName' });
    checkExpression(condition.get('expression'));
  }
}

/** Checks that an expression is not blank. */
export function checkExpression(expression: Field): void {
  if (expression.text?.trim() === '') expression.invalid('must be an expression', { reason: 'MissingField' });
}
