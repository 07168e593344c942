import { expect, test } from 'vitest';
import { createMemoryStore } from '../../../../../src/adapters/stores/memory.ts';
import { care } from '../../../../../src/domains/care/engine/care.ts';
import { REMEDIATIONS } from '../../../../../src/domains/care/model/reports.ts';
import { createRemediationAudit } from '../../../../../src/domains/care/runtime/remediation-audit.ts';
import { agentReportKey } from '../../../../../src/model/agent/agent-report.ts';
import { objectDigest } from '../../../../../src/model/text/digest.ts';
import { type JsonObject, textOf } from '../../../../../src/model/text/json.ts';
import type { AuditEntry } from '../../../../../src/ports/audit-log.ts';
import { createEngineWorld } from '../../../../support/engine-world.ts';
import { createKeptLog } from '../../../../support/git-quiet-log.ts';
import { createVirtualClock } from '../../../../support/virtual-clock.ts';

const REMEDIATIONS_KEY = agentReportKey(REMEDIATIONS);

const row = (id: string, values: JsonObject = {}): JsonObject => ({
  ...{ id, time: '2026-01-01T00:00:00Z', configuration: 'ValidatingWebhookConfiguration/policy' },
  ...{
    webhook: 'a.example.com',
    field: 'timeoutSeconds',
    from: 30,
    to: 15,
    dryRun: false,
    outcome: 'changed',
    message: '',
  },
  ...values,
});

function createAuditLog() {
  const entries: AuditEntry[] = [];
  const log = {
    entries,
    isFull: false,
    append: async (entry: AuditEntry): Promise<void> => {
      if (log.isFull) throw new Error('the disk is full');
      entries.push(entry);
    },
    tail: async (limit: number) => entries.slice(-limit),
    ids: () => entries.map(({ id }) => id),
  };
  return log;
}

/** A server of the fleet. */
function createServer(store = createMemoryStore(), audit = createAuditLog(), role = { leads: true }) {
  const { engine } = createEngineWorld();
  const clock = createVirtualClock();
  const sinks: (() => void)[] = [];
  const loop = { addSink: (_phase: string, sink: () => void) => void sinks.push(sink) } as never;
  const deps = { engine, loop, store, clock, log: createKeptLog() };
  const { remediations } = engine.reported(care)?.parts ?? expect.fail();
  const noting = createRemediationAudit(deps, remediations, audit, () => role.leads);
  return {
    ...{ engine, store, audit, clock, role, noting },
    async report(cluster: string, changes: readonly JsonObject[]): Promise<void> {
      const value = { kind: 'Remediations', status: { changes } } as JsonObject;
      engine.inputs.live.set(cluster, REMEDIATIONS_KEY, { key: REMEDIATIONS_KEY, value, digest: objectDigest(value) });
      engine.commit();
      for (const sink of sinks) sink();
      await clock.settle();
    },
  };
}

test('each change is noted once; what changes nothing is not', async () => {
  const { report, audit } = createServer();
  await report('blue', [
    row('1'),
    row('2', { outcome: 'wouldChange', dryRun: true }),
    row('3', { outcome: 'leftAlone' }),
  ]);
  await report('blue', [
    ...[row('1'), row('2', { outcome: 'wouldChange', dryRun: true }), row('3', { outcome: 'leftAlone' })],
    ...[row('4', { outcome: 'refused', message: 'it is invalid' }), row('5', { outcome: 'unknown' })],
  ]);
  await report('green', [row('1')]);
  expect(audit.entries.map(({ id, stage }) => `${id} ${stage}`)).toEqual([
    'blue/1 done',
    'blue/4 refused',
    'blue/5 asked',
    'green/1 done',
  ]);
  expect(audit.entries[0]).toEqual({
    ...{ id: 'blue/1', at: '2026-01-01T00:00:00.000Z', stage: 'done', who: 'agent blue', role: null, proof: 'none' },
    ...{ from: '', act: 'clusters/blue/remediate-webhook', message: '' },
    details: {
      ...{ time: '2026-01-01T00:00:00Z', configuration: 'ValidatingWebhookConfiguration/policy' },
      ...{ webhook: 'a.example.com', field: 'timeoutSeconds', from: '30', to: '15' },
    },
  });
});

test('a restarted server and the next leader note only what is new', async () => {
  const first = createServer();
  await first.report('blue', [row('1')]);
  const restarted = createServer(first.store, first.audit);
  await restarted.report('blue', [row('1'), row('2')]);
  expect(first.audit.ids()).toEqual(['blue/1', 'blue/2']);
  // Another server has a log of its own. It follows at first.
  const other = createServer(first.store, createAuditLog(), { leads: false });
  await other.report('blue', [row('1'), row('2'), row('3')]);
  expect(other.audit.ids()).toEqual([]);
  other.role.leads = true;
  other.noting.lead(true);
  await other.clock.settle();
  expect(other.audit.ids()).toEqual(['blue/3']);
});

test('a crash between the entry and the record of it notes nothing twice', async () => {
  const first = createServer();
  await first.report('blue', [row('1'), row('2')]);
  const restarted = createServer(createMemoryStore(), first.audit);
  await restarted.report('blue', [row('1'), row('2'), row('3')]);
  expect(first.audit.ids()).toEqual(['blue/1', 'blue/2', 'blue/3']);
});

test('a list that the agent has lost begins anew', async () => {
  const { report, audit } = createServer();
  await report('blue', [row('1'), row('2')]);
  await report('blue', []);
  await report('blue', [row('8')]);
  expect(audit.ids()).toEqual(['blue/1', 'blue/2', 'blue/8']);
});

test('what cannot be written is written later', async () => {
  const { report, audit, clock } = createServer();
  audit.isFull = true;
  await report('blue', [row('1')]);
  expect(audit.ids()).toEqual([]);
  audit.isFull = false;
  await clock.advance(1_000);
  expect(audit.ids()).toEqual(['blue/1']);
});

test('an agent cannot fill the log: what is left out is counted', async () => {
  const { report, audit, clock } = createServer();
  for (let round = 0; round < 10; round += 1) {
    const changes = Array.from({ length: 100 }, (_, index) => row(`${round}-${index}`));
    await report('blue', changes);
  }
  expect(audit.entries).toHaveLength(500);
  await clock.advance(60_000);
  await report('blue', [row('late')]);
  expect(audit.entries.at(-1)).toMatchObject({ id: 'blue/late', details: { leftOutBefore: '500' } });
});

test('malformed rows are left out, and long ones are cut', async () => {
  const { report, audit } = createServer();
  const long = 'x'.repeat(100_000);
  await report('blue', [
    row('a b'),
    row('1', { outcome: 'other' }),
    row('2', { time: 'now' }),
    7 as never,
    row('3', { message: long, to: long }),
  ]);
  expect(audit.ids()).toEqual(['blue/3']);
  const [entry] = audit.entries;
  expect(entry?.message).toContain('cut, 100000 characters');
  expect(entry?.message.length).toBeLessThanOrEqual(500);
  expect(textOf(entry?.details.to).length).toBeLessThan(320);
});

test('an agent that reports new changes all the time costs the leader a bounded number of looks, and none is lost', async () => {
  const audit = createAuditLog();
  let looks = 0;
  const { report, clock } = createServer(createMemoryStore(), {
    ...audit,
    tail: (limit) => {
      looks += 1;
      return audit.tail(limit);
    },
  });
  for (let at = 0; at < 200; at += 1) {
    await report('blue', Array.from({ length: 5 }, (_, back) => row(`${at - back}`)).reverse());
  }
  expect(looks).toBe(10);
  await report('green', [row('1')]);
  await clock.advance(10_000);
  expect(looks).toBe(12);
  expect(audit.ids()).toContain('green/1');
  expect(audit.ids().at(-1)).toBe('blue/199');
});
