import { type ObjectKey, objectRefOf } from '../../../../model/objects/object-key.ts';
import type { JsonValue } from '../../../../model/text/json.ts';
import { cutText } from '../../../../model/text/messages.ts';
import type { Log } from '../../../../ports/log.ts';
import type { ResourceEvent } from '../../../../ports/resource-status.ts';
import type { WebhookChange } from '../../model/remediate.ts';
import type { RemediationOutcome } from '../../model/remediations.ts';
import type { LiveConfiguration, WebhookConfigurations } from '../../ports/webhook-configurations.ts';
import type { RemediationJournal } from './journal.ts';

/** How each outcome is said: the Event, and the line of the log. */
const WORDS: Readonly<Record<RemediationOutcome, Omit<ResourceEvent, 'message'> & { readonly line: string }>> = {
  changed: { type: 'Normal', reason: 'WebhookRemediated', line: 'a webhook configuration was changed' },
  wouldChange: {
    type: 'Normal',
    reason: 'WebhookRemediationProposed',
    line: 'a webhook configuration would be changed',
  },
  refused: {
    type: 'Warning',
    reason: 'WebhookRemediationRefused',
    line: 'a problematic webhook configuration cannot be changed',
  },
  leftAlone: {
    type: 'Warning',
    reason: 'WebhookRemediationReverted',
    line: 'a problematic webhook configuration is left alone',
  },
  unknown: {
    type: 'Warning',
    reason: 'WebhookRemediationUnanswered',
    line: 'a webhook configuration may have been changed',
  },
};

/** An Event has at most 1,024. */
const LONGEST_MESSAGE = 1_000;

/** A configuration; `live` absent: it cannot be read. */
export interface Subject {
  readonly key: ObjectKey;
  readonly live?: LiveConfiguration;
}

/** What is told of a configuration that is not changed. */
export interface Told {
  readonly outcome: RemediationOutcome;
  readonly dryRun: boolean;
  readonly message: string;
  /** What a dry run has shown. */
  readonly changes?: readonly WebhookChange[];
}

/** `KIND/NAME` */
export function configurationName(key: ObjectKey): string {
  const { kind, name } = objectRefOf(key);
  return `${kind}/${name}`;
}

export type Telling = ReturnType<typeof createTelling>;

/** Says what the remediator has done and what it cannot do: in the log, and by Events. */
export function createTelling({
  webhooks,
  journal,
  log,
}: {
  readonly webhooks: Pick<WebhookConfigurations, 'event'>;
  readonly journal: RemediationJournal;
  readonly log: Log;
}) {
  async function announce({ key, live }: Subject, outcome: RemediationOutcome, text: string): Promise<void> {
    const { line, ...event } = WORDS[outcome];
    const message = cutText(text, LONGEST_MESSAGE);
    log[event.type === 'Normal' ? 'info' : 'warn'](line, { configuration: configurationName(key), message });
    if (live !== undefined) await webhooks.event(live, { ...event, message });
  }
  return {
    /** Says what became of changes that are recorded. */
    announce,
    /** Records and says what changes nothing, once for a subject: by default the configuration. */
    async tell(about: Subject, told: Told, subject?: { readonly name: string }): Promise<void> {
      const { outcome, dryRun, message, changes = [] } = told;
      const configuration = configurationName(about.key);
      const content = subject === undefined ? ({ ...told } as unknown as JsonValue) : true;
      const facts = { configuration, dryRun, outcome, message };
      if (await journal.tell(subject?.name ?? configuration, facts, changes, content)) {
        await announce(about, outcome, message === '' ? proposal(changes) : message);
      }
    },
  };
}

function proposal(changes: readonly WebhookChange[]): string {
  const parts = changes.map(({ webhook, field, how }) => `${field} of webhook ${JSON.stringify(webhook)} ${how}`);
  return `Nothing was changed; a dry run shows: ${parts.join('; ')}`;
}
