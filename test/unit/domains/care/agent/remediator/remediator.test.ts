import { expect, test } from 'vitest';
import { createRemediator } from '../../../../../../src/domains/care/agent/remediator/remediator.ts';
import type { CareTasks } from '../../../../../../src/domains/care/model/agent-tasks.ts';
import type { RecordedRemediation } from '../../../../../../src/domains/care/model/remediations.ts';
import { warningOf } from '../../../../../../src/model/objects/webhooks/problematic.ts';
import { type JsonObject, objectsOf } from '../../../../../../src/model/text/json.ts';
import {
  configurationKey,
  createFakeWebhookConfigurations,
} from '../../../../../support/fake-webhook-configurations.ts';
import { createKeptLog } from '../../../../../support/git-quiet-log.ts';
import { createVirtualClock } from '../../../../../support/virtual-clock.ts';

const TASKS: CareTasks = { leases: [], certificates: false, tunnel: false };
const ON: CareTasks = { ...TASKS, webhookRemediator: 'on' };
const DRY: CareTasks = { ...TASKS, webhookRemediator: 'dryRun' };
const PROBLEM: JsonObject = { failurePolicy: 'Fail', timeoutSeconds: 30 };

let worlds = 0;

function createWorld(cluster = createFakeWebhookConfigurations()) {
  const clock = createVirtualClock();
  const log = createKeptLog();
  let rows: readonly RecordedRemediation[] = [];
  let ids = 0;
  worlds += 1;
  const world = worlds;
  const random = {
    next: () => 0.5,
    id: () => {
      ids += 1;
      return `${world}-${ids}-`.padEnd(32, '0');
    },
  };
  const remediator = createRemediator({ webhooks: cluster.webhooks, clock, random, log }, (next) => {
    rows = next;
  });
  return {
    cluster,
    clock,
    log,
    rows: () => rows,
    outcomes: () => rows.map(({ configuration, field, outcome }) => `${configuration} ${field} ${outcome}`),
    stop: remediator.stop,
    /** The agent sees a state. */
    async see(tasks: CareTasks | undefined, changed?: readonly string[], paused = false): Promise<void> {
      remediator.observe(cluster.live(changed, paused), tasks);
      await clock.settle();
    },
  };
}

test('a problematic configuration is changed at once: with the version that was judged, an Event and a row for each field', async () => {
  const { cluster, see, rows } = createWorld();
  cluster.write('fine', 'helm', { failurePolicy: 'Fail', timeoutSeconds: 5 });
  await see(ON);
  cluster.write('policy', 'helm', { ...PROBLEM, rules: [POD_RULE] });
  await see(ON, ['policy']);
  expect(cluster.webhook('policy')).toMatchObject({ timeoutSeconds: 15, failurePolicy: 'Fail' });
  const { value } = cluster.stored.get(configurationKey('policy')) ?? expect.fail();
  expect(warningOf(value)).toContain('timeoutSeconds of webhook "a.example.com" was set to 15');
  expect(cluster.requests).toEqual([
    { key: configurationKey('policy'), dryRun: true, resourceVersion: '2' },
    { key: configurationKey('policy'), dryRun: false, resourceVersion: '2' },
  ]);
  expect(cluster.events).toMatchObject([{ name: 'policy', type: 'Normal', reason: 'WebhookRemediated' }]);
  expect(rows()).toMatchObject([
    {
      ...{
        time: '2026-01-01T00:00:00Z',
        configuration: 'ValidatingWebhookConfiguration/policy',
        webhook: 'a.example.com',
      },
      ...{ field: 'timeoutSeconds', from: 30, to: 15, dryRun: false, outcome: 'changed', message: '' },
    },
    { field: 'objectSelector', from: null, outcome: 'changed' },
    { field: 'namespaceSelector', from: null, outcome: 'changed' },
  ]);
  expect(new Set(rows().map(({ id }) => id)).size).toBe(3);
  await see(ON, ['policy']);
  expect(cluster.requests).toHaveLength(2);
});

const POD_RULE = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] };

test.each([
  ['the settings do not name it', TASKS, false],
  ['the cluster belongs to no Shoot', undefined, false],
  ['the stop button is on', ON, true],
])('nothing is sent while %s', async (_, tasks, paused) => {
  const { cluster, see, rows } = createWorld();
  cluster.write('policy', 'helm', PROBLEM);
  await see(tasks, undefined, paused);
  expect(cluster.requests).toEqual([]);
  expect(rows()).toEqual([]);
  await see(ON, []);
  expect(cluster.webhook('policy').timeoutSeconds).toBe(15);
});

test('the record is not written either while the stop button is on', async () => {
  const { cluster, see } = createWorld();
  cluster.write('policy', 'helm', PROBLEM);
  await see(DRY);
  const before = cluster.record();
  expect(before.told).not.toEqual({});
  cluster.write('policy', 'helm', { failurePolicy: 'Ignore', timeoutSeconds: 5 });
  await see(DRY, ['policy'], true);
  expect(cluster.record()).toEqual(before);
  await see(DRY, []);
  expect(cluster.record().told).toEqual({});
});

test('what fleetrelay applies, and what is excluded, stays as it is', async () => {
  const { cluster, see } = createWorld();
  cluster.write('applied', 'fleetrelay', PROBLEM);
  cluster.ours.add(configurationKey('applied'));
  cluster.write('excluded', 'helm', PROBLEM, { 'remediation.webhook.shoot.gardener.cloud/exclude': 'true' });
  cluster.write('gardener', 'helm', PROBLEM, { 'resources.gardener.cloud/managed-by': 'gardener' });
  await see(ON);
  expect(cluster.requests).toEqual([]);
  // Between the look and the request it was adopted.
  cluster.write('adopted', 'helm', PROBLEM);
  const live = cluster.live(['adopted']);
  cluster.ours.add(configurationKey('adopted'));
  const { remediator } = direct(cluster);
  remediator.observe(live, ON);
  await createVirtualClock().settle();
  expect(cluster.requests).toEqual([]);
});

function direct(cluster: ReturnType<typeof createFakeWebhookConfigurations>) {
  const clock = createVirtualClock();
  const random = { next: () => 0.5, id: () => 'x'.repeat(32) };
  return {
    remediator: createRemediator({ webhooks: cluster.webhooks, clock, random, log: createKeptLog() }, () => undefined),
  };
}

test('a dry run changes nothing, and is told once, also after a restart', async () => {
  const { cluster, see, outcomes, stop, rows } = createWorld();
  cluster.write('policy', 'helm', PROBLEM);
  await see(DRY);
  await see(DRY, ['policy']);
  expect(cluster.webhook('policy').timeoutSeconds).toBe(30);
  expect(cluster.requests.every(({ dryRun }) => dryRun)).toBe(true);
  expect(outcomes()).toEqual(['ValidatingWebhookConfiguration/policy timeoutSeconds wouldChange']);
  expect(rows()[0]?.dryRun).toBe(true);
  expect(cluster.events).toMatchObject([{ reason: 'WebhookRemediationProposed' }]);
  await stop();
  const after = createWorld(cluster);
  await after.see(DRY);
  expect(after.rows()).toEqual(rows());
  // Solved and broken again, it is told again.
  cluster.write('policy', 'helm', { ...PROBLEM, timeoutSeconds: 5 });
  await after.see(DRY, ['policy']);
  cluster.write('policy', 'helm', PROBLEM);
  await after.see(DRY, ['policy']);
  expect(after.rows()).toHaveLength(2);
});

test('switched from a dry run to real, everything is judged again', async () => {
  const { cluster, see, outcomes } = createWorld();
  cluster.write('policy', 'helm', PROBLEM);
  await see(DRY);
  await see(ON, []);
  expect(outcomes()).toEqual([
    'ValidatingWebhookConfiguration/policy timeoutSeconds wouldChange',
    'ValidatingWebhookConfiguration/policy timeoutSeconds changed',
  ]);
});

test('after a conflict the configuration is judged again as it is then', async () => {
  const { cluster, see, outcomes } = createWorld();
  cluster.write('policy', 'helm', PROBLEM);
  let isFirst = true;
  cluster.before = (dryRun) => {
    if (dryRun || !isFirst) return undefined;
    isFirst = false;
    cluster.write('policy', 'helm', { ...PROBLEM, timeoutSeconds: 20 });
    return undefined;
  };
  await see(ON);
  expect(cluster.webhook('policy').timeoutSeconds).toBe(15);
  expect(outcomes()).toEqual(['ValidatingWebhookConfiguration/policy timeoutSeconds changed']);
  expect(cluster.requests.map(({ dryRun, resourceVersion }) => [dryRun, resourceVersion])).toEqual([
    [true, '1'],
    [false, '1'],
    [true, '2'],
    [false, '2'],
  ]);
});

test('a missing right is told once for all configurations, and tried again later', async () => {
  const { cluster, clock, see, rows } = createWorld();
  cluster.write('a', 'helm', PROBLEM);
  cluster.write('b', 'helm', PROBLEM);
  let tries = 0;
  cluster.before = () => {
    tries += 1;
    return { type: 'refused', isForbidden: true, message: 'cannot patch' };
  };
  await see(ON);
  await see(ON, ['a', 'b']);
  expect(tries).toBe(1);
  expect(rows()).toMatchObject([{ outcome: 'refused', webhook: '', field: '' }]);
  expect(rows()[0]?.message).toContain('cluster register --allow webhooks');
  await clock.advance(60_000);
  await see(ON, []);
  expect(tries).toBe(2);
  expect(rows()).toHaveLength(1);
  expect(cluster.events).toMatchObject([{ reason: 'WebhookRemediationRefused' }]);
  cluster.before = () => undefined;
  await clock.advance(120_000);
  await see(ON, []);
  expect(rows().map(({ outcome }) => outcome)).toEqual(['refused', 'changed', 'changed']);
});

test('a manager that reverts three times within ten minutes is named and left alone, and later tried again', async () => {
  const { cluster, clock, see, rows } = createWorld();
  cluster.write('policy', 'helm', PROBLEM);
  await see(ON);
  for (let reversal = 1; reversal <= 3; reversal += 1) {
    expect(cluster.webhook('policy').timeoutSeconds).toBe(15);
    await clock.advance(60_000);
    cluster.write('policy', 'operator', PROBLEM);
    await see(ON, ['policy']);
  }
  expect(cluster.webhook('policy').timeoutSeconds).toBe(30);
  expect(rows().map(({ outcome }) => outcome)).toEqual(['changed', 'changed', 'changed', 'leftAlone']);
  expect(rows().at(-1)?.message).toContain('field manager "operator" has reverted');
  expect(cluster.events.at(-1)).toMatchObject({ type: 'Warning', reason: 'WebhookRemediationReverted' });
  await clock.advance(300_000);
  cluster.write('policy', 'operator', { ...PROBLEM, timeoutSeconds: 29 });
  await see(ON, ['policy']);
  expect(cluster.webhook('policy').timeoutSeconds).toBe(29);
  expect(rows()).toHaveLength(4);
  // The first reversal is more than ten minutes ago.
  await clock.advance(300_000);
  await see(ON, []);
  expect(cluster.webhook('policy').timeoutSeconds).toBe(15);
});

test('two reversals, and reversals that are far apart, are reversed', async () => {
  const { cluster, clock, see } = createWorld();
  cluster.write('policy', 'helm', PROBLEM);
  await see(ON);
  for (let reversal = 0; reversal < 6; reversal += 1) {
    await clock.advance(301_000);
    cluster.write('policy', 'operator', PROBLEM);
    await see(ON, ['policy']);
    expect(cluster.webhook('policy').timeoutSeconds).toBe(15);
  }
});

test('a change that cannot be recorded is not made', async () => {
  const { cluster, clock, see, rows } = createWorld();
  cluster.write('policy', 'helm', PROBLEM);
  cluster.isFull = true;
  await see(ON);
  expect(cluster.requests.map(({ dryRun }) => dryRun)).toEqual([true]);
  expect(rows()).toEqual([]);
  cluster.isFull = false;
  await clock.advance(5_000);
  await see(ON, []);
  expect(rows()).toMatchObject([{ outcome: 'changed' }]);
});

test('what an agent was doing when it ended is unknown to the next one, which goes on', async () => {
  const { cluster, see, rows } = createWorld();
  cluster.write('policy', 'helm', PROBLEM);
  cluster.before = (dryRun) => (dryRun ? undefined : (new Promise(() => undefined) as never));
  await see(ON);
  expect(rows()).toEqual([]);
  expect(objectsOf(cluster.record().changes)).toHaveLength(1);
  const next = createWorld(cluster);
  cluster.before = () => undefined;
  await next.see(ON);
  expect(next.rows()).toMatchObject([
    { outcome: 'unknown', message: 'the agent ended before the API server had answered' },
    { outcome: 'changed' },
  ]);
});

test.each([
  [{ type: 'unanswered', message: 'no answer' }, 'unknown'],
  [{ type: 'refused', isForbidden: false, message: 'it is invalid' }, 'refused'],
] as const)('a change that ends as %o is recorded as %s, and tried again later', async (answer, outcome) => {
  const { cluster, clock, see, rows } = createWorld();
  cluster.write('policy', 'helm', PROBLEM);
  cluster.before = (dryRun) => (dryRun ? undefined : answer);
  await see(ON);
  expect(rows()).toMatchObject([{ outcome, message: answer.message }]);
  cluster.before = () => undefined;
  await see(ON, []);
  expect(rows()).toHaveLength(1);
  await clock.advance(5_000);
  await see(ON, []);
  expect(rows()).toMatchObject([{ outcome }, { outcome: 'changed' }]);
});

test('the stop button between the judgement and the request leaves no trace', async () => {
  const { cluster, see, rows } = createWorld();
  cluster.write('policy', 'helm', PROBLEM);
  cluster.before = (dryRun) => (dryRun ? undefined : { type: 'hindered' });
  await see(ON);
  expect(rows()).toEqual([]);
  expect(cluster.record().changes).toEqual([]);
});

test('the last hundred rows are kept, and a configuration with many fields is counted', async () => {
  const { cluster, see, rows } = createWorld();
  const key = configurationKey('many');
  cluster.write('many', 'helm', PROBLEM);
  const { value } = cluster.stored.get(key) ?? expect.fail();
  const webhooks = Array.from({ length: 200 }, (_, index) => ({ name: `hook-${index}.example.com`, ...PROBLEM }));
  cluster.stored.set(key, { value: { ...value, webhooks }, manager: 'helm' });
  for (let index = 0; index < 60; index += 1) cluster.write(`policy-${index}`, 'helm', PROBLEM);
  await see(ON);
  await see(ON, []);
  expect(rows()).toHaveLength(100);
  expect(rows().filter(({ configuration }) => configuration.endsWith('/many'))).toHaveLength(40);
  expect(rows().find(({ field }) => field === '')).toMatchObject({
    message: 'and 151 more fields',
    outcome: 'changed',
  });
});
