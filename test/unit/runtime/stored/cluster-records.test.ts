import { describe, expect, it, test } from 'vitest';
import { engineDomains } from '../../../../src/domains/engines.ts';
import { createGraph } from '../../../../src/engine/collections/graph.ts';
import { createEngine } from '../../../../src/engine/graph.ts';
import type { InputDelta } from '../../../../src/model/agent/agent.ts';
import type { Registration } from '../../../../src/model/fleet/ledger.ts';
import { packedObjectOf } from '../../../../src/model/objects/live-object.ts';
import type { ObjectKey } from '../../../../src/model/objects/object-key.ts';
import { bucketOf, sha256 } from '../../../../src/model/text/digest.ts';
import { atOnce } from '../../../../src/model/values/in-slices.ts';
import { createTextPacker } from '../../../../src/model/values/packed-texts.ts';
import type { SnapshotStore, StoreWrite } from '../../../../src/ports/snapshot-store.ts';
import { snapshotOf } from '../../../../src/runtime/ledger/cluster-state.ts';
import { createLedger } from '../../../../src/runtime/ledger/ledger.ts';
import { readRecords } from '../../../../src/runtime/ledger/records.ts';
import { noise, reachableMemory } from '../../../support/reachable-memory.ts';
import { configMapKey, liveConfigMap } from '../../../support/relay-world.ts';
import { createSharedMemory } from '../../../support/shared-memory-store.ts';
import { silentLog } from '../../../support/silent-log.ts';
import { journalOn, keysOf, read } from '../../../support/stored-maps.ts';
import { createVirtualClock, type VirtualClock } from '../../../support/virtual-clock.ts';

const MIB = 1024 * 1024;
const registration = { cluster: 'east', id: 'one', warm: true, position: { epoch: 1, sequence: 1 } } as Registration;
const entry = (text: string) => ({ digest: sha256(text), origins: [], scope: [], phase: 'accepted' as const });
const key = '/ConfigMap/web/a' as ObjectKey;
const always = { check: (): StoreWrite => ({ key: 'claim', ifVersion: null }), refused: () => expect.fail('refused') };

/** One of several processes: the fleet's records wait for its turn. */
async function replica(store: SnapshotStore, clock: VirtualClock) {
  const engine = createEngine(createGraph(), engineDomains);
  const journal = journalOn(store, clock);
  let leads = false;
  const fleet = journal.group({ check: () => (leads ? always.check() : undefined), refused: () => undefined });
  const records = await readRecords(store, silentLog);
  const ledger = createLedger({ engine, journal, fleet, records, clock }, { ownsAll: false });
  engine.commit();
  const lead = (): void => {
    leads = true;
    fleet.resume();
  };
  return { engine, ledger, lead };
}

const step = { from: sha256(''), to: sha256(''), upserts: [], removals: [] };

describe('the records of a cluster among several processes', () => {
  it('are not deleted by what a new leader remembers of an earlier registration', async () => {
    const [memory, clock] = [createSharedMemory(), createVirtualClock()];
    const [a, b] = [await replica(memory.open(), clock), await replica(memory.open(), clock)];
    a.ledger.replicateRegistration('east', registration, undefined);
    a.ledger.endRegistration('east');
    b.ledger.own('east', {}, always);
    b.ledger.setRegistration('east', registration);
    atOnce(b.ledger.takeInput('east', { ...step, kinds: [] }, { now: () => 1 }));
    await clock.advance(200);
    a.ledger.replicateRegistration('east', registration, undefined);
    a.lead();
    await clock.advance(200);
    const keys = await keysOf(memory.open());
    expect(keys).toEqual(expect.arrayContaining(['registrations/east', 'clusters/east/live', 'revocations/east']));
  });

  it('are deleted by the leader when a cluster that no replica serves is deregistered', async () => {
    const [memory, clock] = [createSharedMemory(), createVirtualClock()];
    const [a, b] = [await replica(memory.open(), clock), await replica(memory.open(), clock)];
    b.ledger.own('east', {}, always);
    b.ledger.setRegistration('east', registration);
    atOnce(b.ledger.takeInput('east', { ...step, kinds: [] }, { now: () => 1 }));
    await clock.advance(200);
    b.ledger.disown('east');
    a.ledger.endRegistration('east');
    a.lead();
    await clock.advance(200);
    expect(
      (await keysOf(memory.open())).filter((each) => /^(registrations|clusters\/east\/(live|kinds))/.test(each)),
    ).toEqual([]);
  });

  it('have the whole first input snapshot, also if its parts began before this process wrote them', async () => {
    const [memory, clock] = [createSharedMemory(), createVirtualClock()];
    const { ledger } = await replica(memory.open(), clock);
    ledger.setRegistration('east', registration);
    const upserts = ['a', 'b', 'c'].map((name) => liveConfigMap(name, '1'));
    const parts = ledger.takeInput('east', { ...step, upserts, kinds: [] }, { now: () => 1, partRecords: 1 });
    parts.next();
    ledger.own('east', {}, always);
    await clock.advance(200);
    expect((await read(memory.open(), 'clusters/east/kinds')).type).toBe('missing');
    parts.next();
    ledger.own('east', {}, always);
    atOnce(parts);
    await clock.advance(200);
    const reading = await read(memory.open(), 'clusters/east/live');
    expect(reading.type === 'complete' && [...reading.map.values.keys()].sort()).toEqual(
      upserts.map((each) => each.key),
    );
    expect(reading.type === 'complete' && reading.map.meta).toEqual({ since: 1 });
  });

  it('say that a part of the next input snapshot is here', async () => {
    const [memory, clock] = [createSharedMemory(), createVirtualClock()];
    const { ledger } = await replica(memory.open(), clock);
    ledger.setRegistration('east', registration);
    ledger.own('east', {}, always);
    atOnce(ledger.takeInput('east', { ...step, kinds: [] }, { now: () => 1 }));
    const upserts = ['a', 'b'].map((name) => liveConfigMap(name, '1'));
    ledger.takeInput('east', { ...step, upserts }, { now: () => 2, partRecords: 1 }).next();
    await clock.advance(200);
    const reading = await read(memory.open(), 'clusters/east/live');
    expect(reading.type === 'complete' && snapshotOf(reading.map as never)).toEqual({ since: 1, isArriving: true });
  });

  it('match the memory of a replica that read them long ago when the agent reconnects to it', async () => {
    const [memory, clock] = [createSharedMemory(), createVirtualClock()];
    const { engine, ledger } = await replica(memory.open(), clock);
    ledger.own('east', {}, always);
    ledger.setEntry('east', key, entry('1'));
    engine.commit();
    await clock.advance(200);
    ledger.own('east', {}, always);
    ledger.setEntry('east', key, entry('2'));
    engine.commit();
    await clock.advance(200);
    ledger.disown('east');
    ledger.own('east', {}, always);
    await clock.advance(200);
    const reading = await read(memory.open(), 'clusters/east/entries');
    expect(reading.type === 'complete' && [...reading.map.values]).toEqual([[key, entry('2')]]);
  });
});

test('the texts of a snapshot in parts take no memory after small steps have removed its objects', async () => {
  const [memory, clock] = [createSharedMemory(), createVirtualClock()];
  const { engine, ledger } = await replica(memory.open(), clock);
  ledger.setRegistration('east', registration);
  const [count, kept] = [10_000, 20];
  const before = reachableMemory();
  const packer = createTextPacker();
  const keys = Array.from({ length: count }, (_, at) => configMapKey(`c${at}`));
  const upserts = keys.map((key, at) =>
    packedObjectOf(key, sha256(key), packer.place(Buffer.from(noise(at, 2_000)), bucketOf(key))),
  );
  packer.finish();
  const takes = (delta: Partial<InputDelta>): void => {
    for (const _ of ledger.takeInput('east', { ...step, ...delta }, { now: () => 1 })) engine.commit();
    engine.commit();
  };
  takes({ upserts, kinds: [] });
  upserts.length = 0;
  expect(reachableMemory().buffers - before.buffers).toBeGreaterThan(18 * MIB);
  for (let at = 0; at < count; at += 400) takes({ removals: keys.slice(at + kept, at + 400) });
  const texts = Array.from(engine.inputs.live.latestEntries('east'), ({ value }) => value.text);
  const expected = keys.flatMap((_, at) => (at % 400 < kept ? [noise(at, 2_000)] : []));
  expect(texts.toSorted()).toEqual(expected.toSorted());
  // Objects whose values were read last stay a while.
  expect(reachableMemory().buffers - before.buffers).toBeLessThan(6 * MIB);
});
