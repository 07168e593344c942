import { expect, test } from 'vitest';
import { writePlan } from '../../../src/cli/plan-table.ts';
import { EMPTY_PLAN } from '../../support/cli.ts';

test('what is wrong with a whole plan stands before its changes, and what is wrong with one object behind them', () => {
  const written: string[] = [];
  const out = { write: (more: string) => void written.push(more), isTerminal: false, colour: false, columns: 80 };
  writePlan(out, {
    ...EMPTY_PLAN,
    warnings: [
      { reason: 'FieldKept', message: 'its field stays', object: 'ConfigMap/web/a', clusters: ['east'] },
      { reason: 'LacksBase', message: 'the work tree does not contain the admitted commit', clusters: [] },
    ],
    clusters: [{ cluster: 'east', changes: [{ object: 'ConfigMap/web/a', action: 'change', because: [] }] }],
  });
  const lines = written
    .join('')
    .split('\n')
    .filter((line) => line !== '');
  expect(lines.map((line) => line.trim().split(' ').slice(0, 2).join(' '))).toEqual([
    expect.stringContaining(':'),
    'warning LacksBase:',
    expect.stringContaining('east'),
    '~ change',
    'warning FieldKept:',
    expect.stringContaining('Plan:'),
  ]);
});
