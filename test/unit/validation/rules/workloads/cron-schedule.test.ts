import { expect, it } from 'vitest';
import { scheduleRule } from '../../../../../src/validation/rules/workloads/cron-schedule.ts';
import { timeZoneRule } from '../../../../../src/validation/rules/workloads/time-zone.ts';

// All of these were given to an API server of Kubernetes 1.36.

it('reads schedules as Kubernetes does', () => {
  const good = [
    '* * * * *',
    '? ? ? ? ?',
    '*/5 0-23/2 1,15 JAN-dec/3 SUN',
    '5/70 * * * 0',
    '*-9 * * * *',
    ' 0\t3 * * 1 ',
  ];
  const words = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'];
  const durations = ['@every 1h30m', '@every -1h', '@every 0', '@every 1.5h', '@every .5s', '@every 1.s', '@every 1µs'];
  const lists = ['1,2,, * * * *', '+3 * * * *', '007 * * * *', ', * * * *'];
  for (const schedule of [...good, ...words, ...durations, ...lists])
    expect(scheduleRule(schedule), schedule).toBeUndefined();
});

it('refuses schedules as Kubernetes does', () => {
  const counts = ['* * * *', '* * * * * *', ''];
  const ranges = [
    '60 * * * *',
    '* 24 * * *',
    '* * 0 * *',
    '* * 32 * *',
    '* * * 0 *',
    '* * * 13 *',
    '* * * * 7',
    '5-1 * * * *',
  ];
  const forms = [
    '*/0 * * * *',
    '1/2/3 * * * *',
    '1-2-3 * * * *',
    '-1 * * * *',
    '1.5 * * * *',
    'MON * * * *',
    '0x1 * * * *',
  ];
  const others = [
    '* * L * *',
    '* * 15W * *',
    '* * * * 5#2',
    '* * * * mon-',
    '@every',
    '@every 1',
    '@every 1d',
    '@Daily',
    ' @daily',
  ];
  const zones = ['TZ=UTC * * * * *', 'CRON_TZ=UTC * * * * *'];
  for (const schedule of [...counts, ...ranges, ...forms, ...others, ...zones]) {
    expect(scheduleRule(schedule), schedule).toBeDefined();
  }
});

it('knows the names of time zones, with their case', () => {
  const good = [
    'UTC',
    'Etc/UTC',
    'Europe/Berlin',
    'America/Argentina/Buenos_Aires',
    'Etc/GMT+12',
    'US/Pacific',
    'GB',
    'W-SU',
  ];
  const old = ['Asia/Calcutta', 'Europe/Kiev', 'Europe/Kyiv', 'EST5EDT', 'Zulu', 'America/Port-au-Prince'];
  for (const name of [...good, ...old]) expect(timeZoneRule(name), name).toBeUndefined();
  const bad = [
    '',
    'Local',
    'utc',
    'europe/berlin',
    'us/pacific',
    'Europe/Muenchen',
    '+01:00',
    'UTC+1',
    'PST',
    'Europe//Berlin',
  ];
  for (const name of [...bad, 'Europe/Berlin/', ' UTC', 'Etc/GMT+13']) expect(timeZoneRule(name), name).toBeDefined();
  expect(timeZoneRule('europe/berlin')).toBe('must be the name of a time zone like Europe/Berlin');
});
