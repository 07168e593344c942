import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type TextOutput, terminalOf, writeTable } from '../../../src/cli/output.ts';
import { CLUSTER_COLUMNS } from '../../../src/cli/views.ts';
import { suggestion } from '../../../src/model/text/messages.ts';
import { printable } from '../../../src/model/text/printable.ts';

interface Row {
  readonly name: string;
  readonly state: string;
}

function table(rows: readonly Row[], colour = false): string {
  let text = '';
  const out: TextOutput = {
    write: (more) => {
      text += more;
    },
    isTerminal: colour,
    colour,
    columns: 80,
  };
  writeTable(
    out,
    [
      { title: 'NAME', text: ({ name }) => name },
      { title: 'STATE', text: ({ state }) => state, isState: true },
    ],
    rows,
  );
  return text;
}

test('a table is aligned and has no trailing spaces', () => {
  const rows = [
    { name: 'a', state: 'applied' },
    { name: 'longer', state: 'synced, partial' },
  ];
  expect(table(rows)).toBe('NAME     STATE\na        applied\nlonger   synced, partial\n');
  expect(table(rows, true)).toContain('\u001b[32mapplied');
  expect(table(rows, true)).toContain('\u001b[33msynced, partial');
});

test('foreign text has no characters that control a terminal', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const line = printable(text);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: looking for control characters is the point.
      expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
    }),
  );
  expect(table([{ name: 'a\u001b[31m\nb', state: '' }])).toContain('a\ufffd[31m b');
});

test('a person reads a terminal, in colours unless the user has refused them', () => {
  expect(terminalOf(true, {})).toEqual({ isTerminal: true, colour: true });
  expect(terminalOf(true, { NO_COLOR: '' })).toEqual({ isTerminal: true, colour: true });
  expect(terminalOf(true, { NO_COLOR: '1' })).toEqual({ isTerminal: true, colour: false });
  expect(terminalOf(false, {})).toEqual({ isTerminal: false, colour: false });
  expect(terminalOf(true, { TERM: 'dumb' })).toEqual({ isTerminal: false, colour: false });
  expect(terminalOf(false, { FORCE_COLOR: '1' })).toEqual({ isTerminal: false, colour: true });
  expect(terminalOf(false, { FORCE_COLOR: 'true', NO_COLOR: '1' })).toEqual({ isTerminal: false, colour: true });
  expect(terminalOf(true, { FORCE_COLOR: '0' })).toEqual({ isTerminal: true, colour: false });
  expect(terminalOf(true, { FORCE_COLOR: '' })).toEqual({ isTerminal: true, colour: true });
});

describe('a suggestion', () => {
  const known = ['status', 'serve', 'source', 'get', 'explain', 'version'];
  test.each([
    ['statsu', 'status'],
    ['srve', 'serve'],
    ['sources', 'source'],
    ['ver', 'version'],
    ['gte', 'get'],
  ])('for %s is %s', (word, meant) => {
    expect(suggestion(word, known)).toBe(meant);
  });

  test.each(['', 'x', 'deploy', 'x'.repeat(100_000)])('for %.10s is none', (word) => {
    expect(suggestion(word, known)).toBeUndefined();
  });
});

test('a cluster that is not well shows its reason once', () => {
  const message = '0 of 7 applied, 7 unreachable: the agent is not connected';
  const text = CLUSTER_COLUMNS.find(({ title }) => title === 'MESSAGE')?.text;
  const cluster = {
    name: 'east',
    labels: {},
    id: null,
    released: false,
    connectionSince: null,
    connected: false,
    warm: false,
    inSync: false,
    position: { epoch: 0, sequence: 0 },
    counts: { targeted: 7, applied: 0, failed: 0, held: 0, pending: 0, unreachable: 7 },
    kept: 0,
    drifted: 0,
    paused: 0,
    message,
    agentVersion: null,
    kubernetesVersion: null,
    problem: '',
    suspended: null,
    conditions: [],
  };
  expect(text?.(cluster)).toBe(message);
  expect(text?.({ ...cluster, kept: 7 })).toBe(`nothing changes in 7 objects; ${message}`);
  expect(text?.({ ...cluster, kept: 7, message: '' })).toBe('nothing changes in 7 objects');
});
