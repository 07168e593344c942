import { type JsonObject, type JsonValue, objectOf, objectsOf, textOf } from '../../text/json.ts';
import { cutText, firstNames } from '../../text/messages.ts';
import type { Webhook } from './match.ts';
import {
  isExemptFromConstraints,
  isFailing,
  LONGEST_LEASE_TIMEOUT_SECONDS,
  LONGEST_TIMEOUT_SECONDS,
  problemOfWebhook,
  timeoutOf,
  type WebhookProblem,
  warningOf,
} from './problematic.ts';

/** What is wrong with a webhook configuration, in the form of a condition. */
export interface ConfigurationProblem {
  readonly reason: 'ProblematicWebhooks' | 'RemediatedWebhooks';
  readonly message: string;
}

/** What the constraints of a Shoot say of a webhook configuration: its first problem; undefined if it has none. */
export function problemOfConfiguration(configuration: JsonObject): ConfigurationProblem | undefined {
  if (isExemptFromConstraints(configuration)) return undefined;
  const { kind, metadata, webhooks } = configuration;
  const subject = `${textOf(kind)} ${JSON.stringify(textOf(objectOf(metadata).name))} is problematic`;
  const webhook = objectsOf(webhooks).find((each) => problemOfWebhook(each) !== undefined);
  if (webhook !== undefined) {
    const { name, failurePolicy, timeoutSeconds } = webhook;
    const timeout = typeof timeoutSeconds === 'number' ? `${timeoutSeconds}s timeout` : 'unset timeoutSeconds';
    const policy = `failurePolicy ${quoted(textOf(failurePolicy) || 'nil')} and ${timeout}`;
    const what = `webhook ${quoted(name)} with ${policy}`;
    const message = `${subject}: ${what} might prevent worker nodes from properly joining the shoot cluster`;
    return { reason: 'ProblematicWebhooks', message };
  }
  if (warningOf(configuration) === '') return undefined;
  const message = `${subject} and was remediated by Gardener (please check its annotations for details).`;
  return { reason: 'RemediatedWebhooks', message };
}

/** What a problematic webhook blocks, and the way out, for the author of its manifest. */
export function describeWebhookProblem(
  webhook: Webhook,
  { isAboutLeases, blocked }: WebhookProblem,
): { readonly message: string; readonly wayOut: string } {
  const name = `webhook ${quoted(webhook.name)}`;
  const timeout = timeoutOf(webhook);
  const waits = Number.isFinite(timeout) ? `for ${timeout} s` : 'with no timeoutSeconds';
  const consequence = 'nodes may not join, and a cluster that sleeps may not wake up';
  if (isAboutLeases) {
    const message = `while ${name} does not answer, it delays Leases in kube-system ${waits}: controllers may lose their leadership`;
    return { message, wayOut: `write timeoutSeconds: ${LONGEST_LEASE_TIMEOUT_SECONDS}, or exclude kube-system` };
  }
  const what = resourcesOf(blocked);
  if (!isFailing(webhook)) {
    const message = `while ${name} does not answer, it delays ${what} ${waits}: ${consequence}`;
    return { message, wayOut: `write timeoutSeconds: ${LONGEST_TIMEOUT_SECONDS} or less` };
  }
  const message = `while ${name} does not answer, it blocks ${what}: ${consequence}`;
  const ignored = `failurePolicy: Ignore and timeoutSeconds: ${LONGEST_TIMEOUT_SECONDS} or less`;
  const everywhere = blocked.filter(({ namespaceLabels }) => namespaceLabels === undefined);
  const wayOut =
    everywhere.length === 0
      ? `exclude ${namespacesOf(blocked)} by kubernetes.io/metadata.name in its namespaceSelector, or write ${ignored}`
      : `take ${resourcesOf(everywhere)} out of its rules, or write ${ignored}`;
  return { message, wayOut };
}

/** API servers accept shorter names; a folder of files can hold anything. */
const LONGEST_NAME = 253;

function quoted(text: JsonValue | undefined): string {
  return JSON.stringify(cutText(textOf(text), LONGEST_NAME));
}

const MOST_NAMED = 5;

function resourcesOf(blocked: WebhookProblem['blocked']): string {
  const names = [
    ...new Set(blocked.map(({ resource, subresource }) => resource + (subresource === '' ? '' : `/${subresource}`))),
  ];
  return firstNames(names, MOST_NAMED);
}

function namespacesOf(blocked: WebhookProblem['blocked']): string {
  return [...new Set(blocked.map(({ namespaceLabels }) => namespaceLabels?.['kubernetes.io/metadata.name'] ?? ''))]
    .sort()
    .reverse()
    .join(' and ');
}
