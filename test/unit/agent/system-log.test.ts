import { expect, test } from 'vitest';
import { createPinoLog } from '../../../src/adapters/system/pino-log.ts';

function recording(level: 'debug' | 'info' = 'info') {
  const lines: string[] = [];
  return { lines, log: createPinoLog({ level, write: (line) => lines.push(line) }) };
}

test('a line is one JSON object with time, level, message and the data beside it', () => {
  const { lines, log } = recording();
  log.child({ cluster: 'west' }).warn('object failed', { key: '/ConfigMap/web/a', attempts: 3 });
  log.debug('not wanted at this level');
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? '')).toEqual({
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    level: 'warn',
    message: 'object failed',
    cluster: 'west',
    key: '/ConfigMap/web/a',
    attempts: 3,
  });
});

test('nothing secret comes out, at any depth, in data, children, texts and errors', () => {
  const { lines, log } = recording();
  const planted = 'hunter2hunter2';
  log.child({ headers: { Authorization: `Bearer ${planted}` } }).info('call', {
    token: planted,
    deep: { list: [{ relay_secret: planted, privateKey: planted, key: planted }] },
    text: `sent authorization: Bearer ${planted} to https://user:${planted}@git.example/x.git`,
    error: new Error(`Bearer ${planted}`, { cause: new Error(`https://${planted}@host/`) }),
    pem: `-----BEGIN EC PRIVATE KEY-----\n${planted}\n-----END EC PRIVATE KEY-----`,
  });
  log.error(`Bearer ${planted}`);
  expect(lines).toHaveLength(2);
  expect(lines.join('')).not.toContain(planted);
  expect(lines.join('')).toContain('git.example/x.git');
});

test('names that only sound secret stay, and cycles end', () => {
  const { lines, log } = recording();
  const cyclic: Record<string, unknown> = { tokenFile: '/etc/fleetrelay/token', count: 3n };
  cyclic.self = cyclic;
  log.info('start', cyclic);
  expect(lines[0]).toContain('"tokenFile":"/etc/fleetrelay/token","count":"3"');
  expect(lines[0]).toContain('[too deep]');
});

test('never writes a key of its own twice: most readers would lose the first', () => {
  const { log, lines } = recording();
  log.child({ time: 'child' }).info('what happened', { message: 'the data', level: 7 });
  for (const key of ['message', 'level', 'time']) {
    expect(lines.join('').split(`"${key}":`), key).toHaveLength(2);
  }
  expect(lines.join('')).toContain('"message_":"the data"');
});
