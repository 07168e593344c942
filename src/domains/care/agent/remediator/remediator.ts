import { kindOf, nameOfKind, type ObjectKey } from '../../../../model/objects/object-key.ts';
import { webhookConfigurationKinds } from '../../../../model/objects/webhooks/problematic.ts';
import { errorText } from '../../../../model/text/messages.ts';
import type { LiveState, ObservedObject } from '../../../../ports/cluster-api.ts';
import type { CareTasks } from '../../model/agent-tasks.ts';
import { remediateConfiguration } from '../../model/remediate.ts';
import type { RecordedRemediation } from '../../model/remediations.ts';
import type { WebhookConfigurations } from '../../ports/webhook-configurations.ts';
import { createDue } from './due.ts';
import { createRemediationJournal, type RemediationJournalDeps } from './journal.ts';
import { judgeWebhook } from './judge.ts';
import { createReversals } from './reversals.ts';
import { configurationName, createTelling } from './telling.ts';

export interface RemediatorDeps extends Omit<RemediationJournalDeps, 'store'> {
  readonly webhooks: WebhookConfigurations;
}

const KINDS: readonly string[] = webhookConfigurationKinds.map((kind) =>
  nameOfKind({ group: 'admissionregistration.k8s.io', kind }),
);

/**
 * Mends the webhook configurations of a cluster that could keep Nodes from joining or the cluster from waking up. It changes what
 * others own: never what fleetrelay applies, and not against a field manager that keeps reverting it. `changed` receives the
 * rows of what was done.
 */
export function createRemediator(deps: RemediatorDeps, changed: (rows: readonly RecordedRemediation[]) => void) {
  const { webhooks, clock, log } = deps;
  const journal = createRemediationJournal({ ...deps, store: webhooks }, changed);
  const reversals = createReversals(clock.monotonic);
  const parts = { webhooks, journal, reversals, telling: createTelling({ webhooks, journal, log }) };
  const due = createDue(clock.monotonic);
  /** What was told of them does not hold any more. */
  const solved = new Set<ObjectKey>();
  let mode: CareTasks['webhookRemediator'];
  let isPaused = false;
  let isStopped = false;
  let running: Promise<void> | undefined;

  return {
    /** Reports what was done before. Without it, a cluster that belongs to a Shoot would seem to have lost that for a moment. */
    load: async (tasks: CareTasks | undefined): Promise<void> => void (tasks !== undefined && (await isLoaded())),
    /** Takes a state of the cluster, and what is to be done. The cost follows the changes of the state. */
    observe(live: LiveState, tasks: CareTasks | undefined): void {
      const isAnew = tasks?.webhookRemediator !== mode || live.changed === undefined;
      mode = tasks?.webhookRemediator;
      isPaused = live.paused;
      if (mode === undefined) due.clear();
      else for (const key of isAnew ? live.objects.keys() : (live.changed ?? [])) note(key, live.objects.get(key));
      if (tasks === undefined) return;
      running ??= work().finally(() => {
        running = undefined;
      });
    },
    /** Ends the work after the request that is under way. */
    async stop(): Promise<void> {
      isStopped = true;
      await running;
    },
  };

  function note(key: ObjectKey, observed: ObservedObject | undefined): void {
    if (!KINDS.includes(kindOf(key))) return;
    if (observed === undefined) reversals.forget(key);
    if (observed !== undefined && needsChange(observed)) {
      due.add(key);
      solved.delete(key);
    } else {
      due.drop(key);
      solved.add(key);
    }
  }

  async function work(): Promise<void> {
    if (isStopped || due.isPaused() || !(await isLoaded()) || isPaused) return;
    for (const key of solved) {
      solved.delete(key);
      await journal.forget(configurationName(key));
    }
    while (!isStopped && !isPaused && mode !== undefined) {
      const next = due.take();
      if (next === undefined) return;
      await attempt(next.key, next.failures, mode);
    }
  }

  /** What was done before is reported also without a mode. */
  async function isLoaded(): Promise<boolean> {
    try {
      await journal.load();
      return true;
    } catch (error) {
      log.warn('the record of remediated webhooks cannot be read', { reason: errorText(error) });
      due.pause();
      return false;
    }
  }

  async function attempt(key: ObjectKey, failures: number, how: NonNullable<typeof mode>): Promise<void> {
    const step = await judgeWebhook(parts, key, how).catch((error: unknown) => {
      const configuration = configurationName(key);
      log.warn('a webhook configuration could not be judged', { configuration, reason: errorText(error) });
      return 'later' as const;
    });
    if (step === 'forbidden') due.pause();
    else due.resume();
    if (step !== 'done') due.retry(key, failures);
  }
}

/** What fleetrelay applies is never changed. */
function needsChange({ key, stamp, value }: ObservedObject): boolean {
  return stamp?.key !== key && remediateConfiguration(value).changes.length > 0;
}
