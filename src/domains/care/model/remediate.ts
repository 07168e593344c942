import { matchedBy, type Webhook } from '../../../model/objects/webhooks/match.ts';
import { leaseMatchers, type Matcher, matchers } from '../../../model/objects/webhooks/matchers.ts';
import {
  isExemptFromRemediation,
  LONGEST_LEASE_TIMEOUT_SECONDS,
  LONGEST_TIMEOUT_SECONDS,
  timeoutOf,
  WARNING_ANNOTATION,
} from '../../../model/objects/webhooks/problematic.ts';
import { type JsonObject, type JsonValue, objectOf, textOf } from '../../../model/text/json.ts';

/** A webhook configuration as one run of the remediator leaves it. */
export interface Remediation {
  /** The configuration itself if nothing changes. */
  readonly configuration: JsonObject;
  /** What was done; empty if nothing changes. */
  readonly changes: readonly WebhookChange[];
}

/** One changed field of one webhook. */
export interface WebhookChange {
  /** Its name. */
  readonly webhook: string;
  readonly field: 'timeoutSeconds' | 'failurePolicy' | 'objectSelector' | 'namespaceSelector';
  /** Null: it was not written. */
  readonly from: JsonValue;
  readonly to: JsonValue;
  /** `set to 15` */
  readonly how: string;
}

/** `timeoutSeconds of webhook "hook.example.com" was set to 15` */
export function describeChange({ webhook, field, how }: WebhookChange): string {
  return `${field} of webhook ${JSON.stringify(webhook)} was ${how}`;
}

/** The changed fields of one webhook as they are to be written, in YAML on one line. */
export function mendedYaml(changes: readonly WebhookChange[]): string {
  return changes.map(({ field, to }) => `${field}: ${typeof to === 'string' ? to : flowYaml(to)}`).join(', ');
}

/** Names and texts of selectors, which need quotes where they could be read as something else. */
function flowYaml(value: JsonValue): string {
  return JSON.stringify(value)
    .replace(/"(\w+)":/g, '$1: ')
    .replaceAll(',', ', ');
}

/**
 * Mends the webhooks of a configuration: lower timeouts, `failurePolicy: Ignore`, selectors that leave out what the system
 * needs. An annotation says what was done. Source: Gardener's webhook remediator; other than there, a webhook for Leases has its
 * short timeout after one run.
 */
export function remediateConfiguration(configuration: JsonObject): Remediation {
  const { metadata, webhooks } = configuration;
  if (!Array.isArray(webhooks) || isExemptFromRemediation(configuration)) return { configuration, changes: [] };
  const changes: WebhookChange[] = [];
  const mended = webhooks.map((webhook: JsonValue) => remediateWebhook(objectOf(webhook), webhook, changes));
  if (changes.length === 0) return { configuration, changes };
  const annotations = { ...objectOf(objectOf(metadata).annotations), [WARNING_ANNOTATION]: warning(changes) };
  return {
    configuration: { ...configuration, metadata: { ...objectOf(metadata), annotations }, webhooks: mended },
    changes,
  };
}

function remediateWebhook(webhook: Webhook, written: JsonValue, changes: WebhookChange[]): JsonValue {
  let mended = webhook;
  const set = (field: WebhookChange['field'], to: JsonValue, how: string): void => {
    mended = { ...mended, [field]: to };
    changes.push({ webhook: textOf(webhook.name), field, from: webhook[field] ?? null, to, how });
  };
  const longest = longestTimeout(webhook);
  if (longest !== undefined) set('timeoutSeconds', longest, `set to ${longest}`);
  const matched = webhook.failurePolicy === 'Ignore' ? [] : matchedBy(webhook, matchers);
  const hasNoLabels = ({ namespaceLabels, objectLabels }: Matcher) => (namespaceLabels ?? objectLabels) === undefined;
  if (matched.some(hasNoLabels)) set('failurePolicy', 'Ignore', 'set to Ignore');
  for (const [field, labels] of [
    ['objectSelector', matched.map(({ objectLabels }) => objectLabels)],
    ['namespaceSelector', matched.map(({ namespaceLabels }) => namespaceLabels)],
  ] as const) {
    const added = exclusions(labels);
    if (added.length === 0) continue;
    const selector = objectOf(webhook[field]);
    const { matchExpressions } = selector;
    const before: readonly JsonValue[] = Array.isArray(matchExpressions) ? matchExpressions : [];
    const value = {
      ...selector,
      matchExpressions: [...before, ...added.map(([key, text]) => ({ key, operator: 'NotIn', values: [text] }))],
    };
    set(field, value, `extended with [${added.map(([key, text]) => `${key} notin (${text})`).join(', ')}]`);
  }
  return mended === webhook ? written : mended;
}

/** The timeout that the webhook gets; undefined if it keeps its own. */
function longestTimeout(webhook: Webhook): number | undefined {
  const timeout = timeoutOf(webhook);
  if (timeout > LONGEST_LEASE_TIMEOUT_SECONDS && matchedBy(webhook, leaseMatchers).length > 0) {
    return LONGEST_LEASE_TIMEOUT_SECONDS;
  }
  return timeout > LONGEST_TIMEOUT_SECONDS ? LONGEST_TIMEOUT_SECONDS : undefined;
}

/** Each label once. */
function exclusions(all: readonly Matcher['objectLabels'][]): readonly (readonly [key: string, value: string])[] {
  const byText = all
    .flatMap((labels) => Object.entries(labels ?? {}))
    .map(([key, value]) => [`${key}=${value}`, [key, value] as const] as const);
  return [...new Map(byText).values()];
}

/** Annotations of an object have 256 KiB in all. */
const MOST_LINES = 200;

function warning(changes: readonly WebhookChange[]): string {
  return [
    'ATTENTION: fleetrelay has modified this webhook configuration, because it could keep nodes from joining the cluster or the cluster from waking up.',
    'Mend its source by the good practices for webhooks: https://kubernetes.io/docs/concepts/cluster-administration/admission-webhooks-good-practices/',
    'When you are done, remove this annotation.',
    'The following modifications have been made:',
    ...changes.slice(0, MOST_LINES).map((change) => `- ${describeChange(change)}`),
    ...(changes.length > MOST_LINES ? [`- and ${changes.length - MOST_LINES} more`] : []),
  ].join('\n');
}
