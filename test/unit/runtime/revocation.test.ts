import { describe, expect, it, test } from 'vitest';
import { engineDomains } from '../../../src/domains/engines.ts';
import { createGraph } from '../../../src/engine/collections/graph.ts';
import { createEngine } from '../../../src/engine/graph.ts';
import { parseClusterId, parseClusterName } from '../../../src/model/fleet/ids.ts';
import { must } from '../../../src/model/values/result.ts';
import type { StoreWrite } from '../../../src/ports/snapshot-store.ts';
import { createLedger, newRegistration } from '../../../src/runtime/ledger/ledger.ts';
import type { Revocation } from '../../../src/runtime/ledger/records.ts';
import { readRecords } from '../../../src/runtime/ledger/records.ts';
import { isLater, isVoid } from '../../../src/runtime/ledger/registrations.ts';
import { endedRegistrations } from '../../../src/sources/agents/admission.ts';
import { createSharedMemory, type SharedMemory } from '../../support/shared-memory-store.ts';
import { silentLog } from '../../support/silent-log.ts';
import { journalOn } from '../../support/stored-maps.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const EAST = must(parseClusterName('east'));
const ID = must(parseClusterId('one'));
const HOUR = 3_600_000;
const NOON = Date.UTC(2026, 5, 1, 12);

/** A replica whose clock is wrong by so much. The fleet's records wait until it leads. */
async function replica(memory: SharedMemory, wrongByMs: number, leads: boolean) {
  const clock = createVirtualClock(NOON + wrongByMs);
  const store = memory.open();
  const journal = journalOn(store, clock);
  const check = (): StoreWrite | undefined => (leads ? { key: 'claim', ifVersion: null } : undefined);
  const fleet = journal.group({ check, refused: () => undefined });
  const records = await readRecords(store, silentLog);
  const engine = createEngine(createGraph(), engineDomains);
  const ledger = createLedger({ engine, journal, fleet, records, clock }, { ownsAll: false });
  engine.commit();
  const certificate = (at = clock.now()) => ({
    ...{ issuedAt: at, expiresAt: at + 24 * HOUR, serial: '01' },
    registration: endedRegistrations(ledger, EAST),
  });
  const register = (): void =>
    ledger.replicateRegistration(EAST, newRegistration(EAST, ID, endedRegistrations(ledger, EAST)), undefined);
  return { ledger, clock, certificate, register };
}

type Replica = Awaited<ReturnType<typeof replica>>;

/** What the one has noted reaches the other. */
function hears({ ledger }: Replica, from: Replica): void {
  ledger.replicateRegistration(EAST, from.ledger.registration(EAST), from.ledger.revocation(EAST));
}

describe.each([
  ['ahead', HOUR],
  ['behind', -HOUR],
])('of two replicas, one an hour %s', (_, wrongByMs) => {
  it('a certificate issued before the end is void at both replicas, one issued after it is valid at both', async () => {
    const memory = createSharedMemory();
    const [leader, other] = [await replica(memory, 0, true), await replica(memory, wrongByMs, false)];
    for (const { register } of [leader, other]) register();
    const before = [leader.certificate(), other.certificate()];
    leader.ledger.endRegistration(EAST);
    hears(other, leader);
    const after = [leader.certificate(), other.certificate()];
    for (const { ledger } of [leader, other]) {
      expect(before.map((each) => isVoid(each, ledger.revocation(EAST)))).toEqual([true, true]);
      expect(after.map((each) => isVoid(each, ledger.revocation(EAST)))).toEqual([false, false]);
    }
  });

  it('an end that both replicas detect counts once, in any order', async () => {
    const memory = createSharedMemory();
    const [leader, other] = [await replica(memory, 0, true), await replica(memory, wrongByMs, false)];
    for (const { register } of [leader, other]) register();
    leader.ledger.endRegistration(EAST);
    // It has heard of the end, and not yet that there is no registration any more.
    other.ledger.replicateRegistration(EAST, newRegistration(EAST, ID, 0), leader.ledger.revocation(EAST));
    other.ledger.endRegistration(EAST);
    expect([leader, other].map(({ ledger }) => endedRegistrations(ledger, EAST))).toEqual([1, 1]);
    for (const { register } of [leader, other]) register();
    other.ledger.endRegistration(EAST);
    leader.ledger.endRegistration(EAST);
    expect([leader, other].map(({ ledger }) => endedRegistrations(ledger, EAST))).toEqual([2, 2]);
    const certificate = leader.certificate();
    hears(other, leader);
    expect(isVoid(certificate, other.ledger.revocation(EAST))).toBe(false);
  });

  it('the end outlasts a restart', async () => {
    const memory = createSharedMemory();
    const leader = await replica(memory, wrongByMs, true);
    leader.register();
    const before = leader.certificate();
    leader.ledger.endRegistration(EAST);
    const after = leader.certificate();
    await leader.clock.advance(200);
    const { ledger } = await replica(memory, 0, true);
    expect([before, after].map((each) => isVoid(each, ledger.revocation(EAST)))).toEqual([true, false]);
  });
});

const at = (issuedAt: number, registration?: number) => ({
  ...{ issuedAt, expiresAt: issuedAt + HOUR, serial: '01' },
  ...(registration === undefined ? {} : { registration }),
});

test.each<[string, ReturnType<typeof at>, Revocation | undefined, boolean]>([
  ['nothing has ended', at(1), undefined, false],
  ['of this registration, whatever the clocks say', at(1, 2), { ended: 2, notBefore: NOON }, false],
  ['of an earlier one, whatever the clocks say', at(NOON + HOUR, 1), { ended: 2, notBefore: NOON }, true],
  ['without a number, of before', at(NOON - 1), { ended: 2, notBefore: NOON }, true],
  ['without a number, of after', at(NOON), { ended: 2, notBefore: NOON }, false],
  ['of a count that the store has lost, of before', at(NOON - 1, 3), { ended: 1, notBefore: NOON }, true],
  ['of a count that the store has lost, of after', at(NOON, 3), { ended: 1, notBefore: NOON }, false],
])('a certificate: %s', (_, certificate, revocation, expected) => {
  expect(isVoid(certificate, revocation)).toBe(expected);
});

test.each<[Revocation, Revocation | undefined, boolean]>([
  [{ ended: 1, notBefore: 1 }, undefined, true],
  [{ ended: 2, notBefore: 1 }, { ended: 1, notBefore: NOON }, true],
  [{ ended: 1, notBefore: NOON }, { ended: 2, notBefore: 1 }, false],
  [{ ended: 1, notBefore: 1 }, { ended: 1, notBefore: 1 }, false],
  [{ ended: 1, notBefore: 2 }, { ended: 1, notBefore: 1 }, true],
  [{ ended: 1, notBefore: 1 }, { ended: 1, notBefore: 2 }, false],
])('%j is later than %j: %s', (one, other, expected) => {
  expect(isLater(one, other)).toBe(expected);
});
