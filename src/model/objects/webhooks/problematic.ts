import { type JsonObject, type JsonValue, objectOf, textOf } from '../../text/json.ts';
import { matchedBy, type Webhook } from './match.ts';
import { leaseMatchers, type Matcher, matchers } from './matchers.ts';

/** The longest timeout of a webhook, in seconds, with which requests of a control plane still succeed. */
export const LONGEST_TIMEOUT_SECONDS = 15;
/** The same for Leases, which their holders must renew within seconds. */
export const LONGEST_LEASE_TIMEOUT_SECONDS = 3;

/** The kinds of webhook configurations, in the order in which they are judged. */
export const webhookConfigurationKinds = ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'] as const;

/** What a webhook could keep a cluster from doing. */
export interface WebhookProblem {
  /** It stands in the way of leader elections, by its timeout alone. */
  readonly isAboutLeases: boolean;
  /** What it blocks; at least one. */
  readonly blocked: readonly Matcher[];
}

/** Why a webhook might prevent nodes from joining or a cluster from waking up; undefined if it does not. */
export function problemOfWebhook(webhook: Webhook): WebhookProblem | undefined {
  const timeout = timeoutOf(webhook);
  if (timeout > LONGEST_LEASE_TIMEOUT_SECONDS) {
    const leases = matchedBy(webhook, leaseMatchers);
    if (leases.length > 0) return { isAboutLeases: true, blocked: leases };
  }
  if (!isFailing(webhook) && timeout <= LONGEST_TIMEOUT_SECONDS) return undefined;
  const blocked = matchedBy(webhook, matchers);
  return blocked.length === 0 ? undefined : { isAboutLeases: false, blocked };
}

/** The timeout in seconds. One that is not written counts as too high, also though API servers take 10 for it. */
export function timeoutOf({ timeoutSeconds }: Webhook): number {
  return typeof timeoutSeconds === 'number' ? timeoutSeconds : Number.POSITIVE_INFINITY;
}

/** Whether requests fail while the webhook does not answer; so they do unless it says otherwise. */
export function isFailing({ failurePolicy }: Webhook): boolean {
  return failurePolicy === undefined || failurePolicy === null || failurePolicy === 'Fail';
}

/** On a configuration that was remediated: what was done. */
export const WARNING_ANNOTATION = 'gardener.cloud/warning';

/** The text of its annotation `gardener.cloud/warning`: it was remediated, and no person has confirmed that; empty if not. */
export function warningOf(configuration: JsonObject): string {
  return textOf(objectOf(objectOf(configuration.metadata).annotations)[WARNING_ANNOTATION]);
}

/** Whether the constraints of a Shoot leave the configuration out: Gardener itself has made it. */
export function isExemptFromConstraints(configuration: JsonObject): boolean {
  const { app, [MANAGED_BY]: manager } = labelsOf(configuration);
  return app === 'gardener-resource-manager' || manager === 'gardener';
}

/** Whether the remediator leaves the configuration alone: its owner has said so, or Gardener has made it. */
export function isExemptFromRemediation(configuration: JsonObject): boolean {
  const { [EXCLUDE]: excluded, [MANAGED_BY]: manager } = labelsOf(configuration);
  return excluded === 'true' || manager === 'gardener';
}

const EXCLUDE = 'remediation.webhook.shoot.gardener.cloud/exclude';
const MANAGED_BY = 'resources.gardener.cloud/managed-by';

function labelsOf({ metadata }: JsonObject): Readonly<Record<string, JsonValue | undefined>> {
  return objectOf(objectOf(metadata).labels);
}
