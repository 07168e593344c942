import { describe, expect, test } from 'vitest';
import { credentialsRotationOf, rotationOutlook } from '../../../../../src/domains/care/model/credentials-rotation.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';

const shoot = (maintenance: JsonObject, schedules: readonly JsonObject[] = []): JsonObject => ({
  metadata: { creationTimestamp: '2024-01-01T00:00:00Z' },
  spec: { maintenance, hibernation: { schedules } },
});
const rotating = (etcdEncryptionKey: JsonObject, timeWindow: JsonObject = {}): JsonObject => ({
  ...{ autoRotation: { credentials: { etcdEncryptionKey } } },
  timeWindow,
});
const HOUR = 3_600_000;

describe('the rotation of a Shoot', () => {
  test.each<[string, JsonObject, number | undefined]>([
    ['none', {}, undefined],
    ['of another key', { autoRotation: { credentials: { sshKeypair: { rotationPeriod: '1h' } } } }, undefined],
    ['switched off', rotating({ rotationPeriod: '0s' }), undefined],
    ['with a wrong period', rotating({ rotationPeriod: 'soon' }), undefined],
    ['with a period', rotating({ rotationPeriod: '24h' }), 24 * HOUR],
    ['without period', rotating({}), 7 * 24 * HOUR],
  ])('that is %s', (_what, maintenance, periodMillis) => {
    expect(credentialsRotationOf(shoot(maintenance))?.periodMillis).toBe(periodMillis);
  });

  test.each<[string, string, readonly number[] | undefined]>([
    ['220000+0000', '230000+0000', [22, 23]],
    ['220000+0100', '003000+0100', [21, 23.5]],
    ['003000+0100', '013000+0100', [23.5, 0.5]],
    ['223000-0430', '230000-0430', [3, 3.5]],
    ['240000+0000', '230000+0000', undefined],
    ['220000', '230000+0000', undefined],
    ['', '230000+0000', undefined],
  ])('has the window from %s to %s in UTC', (begin, end, hours) => {
    const found = credentialsRotationOf(shoot(rotating({}, { begin, end })))?.window;
    expect(found && [found.begin / HOUR, found.end / HOUR]).toEqual(hours);
  });
});

describe('the next maintenance', () => {
  const AFTERNOON = Date.parse('2024-01-08T15:00:00Z');
  const EVENING = Date.parse('2024-01-08T21:00:00Z');
  const NIGHTLY = { start: '0 20 * * *', end: '0 8 * * *' };
  const WEEKDAYS = { start: '0 20 * * 1-5', end: '0 8 * * 1-5' };
  const outlook = (
    schedules: readonly JsonObject[],
    isAsleep: boolean,
    now: number,
    window: readonly string[] = [],
  ) => {
    const [begin = '220000+0000', end = '230000+0000'] = window;
    const found = credentialsRotationOf(shoot(rotating({}, { begin, end }), schedules));
    if (found === undefined) return expect.fail();
    const { isPrevented, until } = rotationOutlook(found, isAsleep, now);
    return [isPrevented, until === undefined ? undefined : new Date(until).toISOString().slice(8, 16)];
  };

  test.each<[string, readonly JsonObject[], boolean, string | undefined]>([
    ['there is no schedule', [], false, undefined],
    ['it falls asleep before and wakes up after', [NIGHTLY], true, '08T20:00'],
    ['it falls asleep after the end', [{ start: '30 23 * * *', end: '0 8 * * *' }], false, '08T22:00'],
    ['it falls asleep within', [{ start: '30 22 * * *', end: '0 8 * * *' }], true, '08T22:00'],
    ['it falls asleep at the end', [{ start: '0 23 * * *', end: '0 8 * * *' }], true, '08T22:00'],
    ['it wakes up before', [{ start: '0 20 * * *', end: '0 21 * * *' }], false, '08T20:00'],
    ['it wakes up at the begin', [{ start: '0 20 * * *', end: '0 22 * * *' }], false, '08T20:00'],
    ['it never wakes up', [{ start: '0 20 * * *' }], true, '08T20:00'],
    ['it never falls asleep', [{ end: '0 8 * * *' }], false, '08T22:00'],
    ['it sleeps in the nights of weekdays', [WEEKDAYS], true, '08T20:00'],
    ['the first of two schedules counts', [{ start: '0 23 * * *' }, NIGHTLY], true, '08T20:00'],
    ['a schedule is wrong', [NIGHTLY, { start: 'soon' }], false, undefined],
    ['a zone is wrong', [{ ...NIGHTLY, location: 'Mars' }], false, undefined],
    ['it falls asleep in a zone', [{ start: '0 1 * * *', location: 'Asia/Tokyo' }], true, '08T16:00'],
  ])('of a Shoot that is awake: %s', (_what, schedules, expected, until) => {
    expect(outlook(schedules, false, AFTERNOON)).toEqual([expected, until]);
  });

  test.each<[string, readonly JsonObject[], number, boolean]>([
    ['there is no schedule', [], AFTERNOON, true],
    ['it wakes up in time', [{ end: '0 20 * * *' }], AFTERNOON, false],
    ['it wakes up next morning', [NIGHTLY], EVENING, true],
    ['it wakes up within', [{ start: '0 20 * * *', end: '30 22 * * *' }], EVENING, true],
    ['it wakes up after the end', [{ start: '0 20 * * *', end: '30 23 * * *' }], EVENING, true],
    ['it wakes up before', [{ start: '0 20 * * *', end: '30 21 * * *' }], EVENING, false],
    ['weekdays', [WEEKDAYS], EVENING, true],
    ['it never wakes up', [{ start: '0 20 * * *' }], EVENING, true],
    ['it wakes up and falls asleep again', [{ start: '45 21 * * *', end: '30 21 * * *' }], EVENING, true],
  ])('of a Shoot that sleeps: %s', (_what, schedules, now, expected) => {
    expect(outlook(schedules, true, now)[0]).toBe(expected);
  });

  test.each<[JsonObject, number, boolean]>([
    [{ start: '0 20 * * *', end: '0 6 * * *' }, AFTERNOON, true],
    [{ start: '0 2 * * *', end: '0 21 * * *' }, AFTERNOON, false],
    // The maintenance goes on: the next one counts.
    [{ start: '0 22 * * *', end: '0 6 * * *' }, Date.parse('2024-01-09T00:30:00Z'), true],
    [{ start: '30 0 * * *', end: '0 6 * * *' }, Date.parse('2024-01-09T00:30:00Z'), true],
  ])('over midnight, with %j', (schedule, now, expected) => {
    expect(outlook([schedule], false, now, ['230000+0000', '010000+0000'])[0]).toBe(expected);
  });

  test('prevents nothing without a window', () => {
    const schedules = [{ start: '0 20 * * *', end: '', location: '' }];
    expect(rotationOutlook({ schedules }, true, AFTERNOON)).toEqual({ isPrevented: false });
  });
});
