import type { ObjectKey } from '../../../../model/objects/object-key.ts';
import { warningOf } from '../../../../model/objects/webhooks/problematic.ts';
import type { CareTasks } from '../../model/agent-tasks.ts';
import { describeChange, remediateConfiguration, type WebhookChange } from '../../model/remediate.ts';
import type { LiveConfiguration, Refused, WebhookConfigurations } from '../../ports/webhook-configurations.ts';
import type { RemediationJournal } from './journal.ts';
import type { Reversals } from './reversals.ts';
import { configurationName, type Subject, type Telling } from './telling.ts';

export interface JudgeDeps {
  readonly webhooks: WebhookConfigurations;
  readonly journal: RemediationJournal;
  readonly reversals: Reversals;
  readonly telling: Telling;
}

/** `done`: nothing is left to do. `later`: another attempt can succeed. `forbidden`: the right to change anything is missing. */
export type JudgeStep = 'done' | 'later' | 'forbidden';

type Mode = NonNullable<CareTasks['webhookRemediator']>;

/** A configuration that others change this often while it is judged is left to the next try. */
const ATTEMPTS = 5;
/** The missing right concerns no one configuration. */
const RIGHT = { name: 'right' };

/** Judges a webhook configuration as it is now, and changes it. Rejects if the change cannot be recorded; then it is not made. */
export async function judgeWebhook(deps: JudgeDeps, key: ObjectKey, mode: Mode): Promise<JudgeStep> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const step = await judgeOnce(deps, key, mode);
    if (step !== 'again') return step;
  }
  return 'later';
}

async function judgeOnce(deps: JudgeDeps, key: ObjectKey, mode: Mode): Promise<JudgeStep | 'again'> {
  const { webhooks, journal, reversals, telling } = deps;
  const dryRun = mode === 'dryRun';
  const read = await webhooks.read(key);
  if (read.type === 'gone') return 'done';
  if (read.type === 'refused') return refused(deps, { key }, dryRun, read);
  const live = read.configuration;
  const { configuration, changes } = remediateConfiguration(live.value);
  if (live.isOurs || changes.length === 0) return 'done';
  const managers = reversals.revertingManagers(live, changes);
  if (managers.length > 0) {
    await telling.tell({ key, live }, { outcome: 'leftAlone', dryRun, message: leftAlone(managers) });
    return 'later';
  }
  const change = { changes, warning: warningOf(configuration) };
  // First without effect: so a change that is refused is never recorded as under way.
  const checked = await webhooks.change(live, { ...change, dryRun: true });
  if (checked.type === 'conflict') return 'again';
  if (checked.type === 'refused') return refused(deps, { key, live }, dryRun, checked);
  if (checked.type !== 'changed') return 'later';
  await journal.forget(RIGHT.name);
  if (!dryRun) return carryOut(deps, live, change);
  await telling.tell({ key, live }, { outcome: 'wouldChange', dryRun, message: '', changes });
  return 'done';
}

async function carryOut(
  { webhooks, journal, reversals, telling }: JudgeDeps,
  live: LiveConfiguration,
  change: { readonly changes: readonly WebhookChange[]; readonly warning: string },
): Promise<JudgeStep | 'again'> {
  const { key } = live;
  const { changes } = change;
  await journal.begin(configurationName(key), changes);
  const outcome = await webhooks.change(live, { ...change, dryRun: false });
  switch (outcome.type) {
    case 'changed':
      reversals.changed(key, changes);
      await journal.settle('changed');
      await journal.forget(configurationName(key));
      await telling.announce({ key, live }, 'changed', changes.map(describeChange).join('; '));
      return 'done';
    case 'conflict':
    case 'hindered':
      await journal.withdraw();
      return outcome.type === 'conflict' ? 'again' : 'later';
    case 'unanswered':
    case 'refused': {
      const result = outcome.type === 'refused' ? 'refused' : 'unknown';
      await journal.settle(result, outcome.message);
      await telling.announce({ key, live }, result, outcome.message);
      return 'later';
    }
  }
}

async function refused(
  { telling }: JudgeDeps,
  subject: Subject,
  dryRun: boolean,
  { isForbidden, message }: Refused,
): Promise<JudgeStep> {
  if (!isForbidden) {
    await telling.tell(subject, { outcome: 'refused', dryRun, message });
    return 'later';
  }
  const wayOut = `${message}; give the agent the right: fleetrelay cluster register --allow webhooks`;
  await telling.tell(subject, { outcome: 'refused', dryRun, message: wayOut }, RIGHT);
  return 'forbidden';
}

function leftAlone(managers: readonly string[]): string {
  const who = managers.map((manager) => `"${manager}"`).join(', ');
  return `field manager ${who} has reverted changes of it three times within ten minutes: it is left alone for some minutes. Mend what ${who} writes, or exclude the configuration by the label remediation.webhook.shoot.gardener.cloud/exclude: "true"`;
}
