import { expect, test } from 'vitest';
import { placed } from '../../../src/cli/domain-cli.ts';
import { LISTED_KINDS } from '../../../src/cli/lists/wanted.ts';
import { allRows } from '../../../src/cli/registry.ts';
import { domains } from '../../../src/domains/domains.ts';

const named = (...names: readonly string[]) => names.map((name) => ({ name }));

test('rows of domains stand directly after the row that they name, the later domain first, else at the end', () => {
  const rows = placed(named('serve', 'status'), [
    { after: 'serve', rows: named('a', 'b') },
    { after: 'serve', rows: named('c') },
    { after: 'b', rows: named('d') },
    { rows: named('e') },
  ]);
  expect(rows).toEqual(named('serve', 'c', 'a', 'b', 'd', 'status', 'e'));
});

test('each domain names commands and lists that there are', async () => {
  const commands = (await allRows()).map(({ name }) => name);
  const lists = LISTED_KINDS.map(({ name }) => name);
  for (const { cli } of domains) {
    for (const { after, names = {} } of cli?.commands ?? []) {
      expect(commands).toContain(after);
      expect(lists).toEqual(expect.arrayContaining(Object.values(names)));
    }
    const { after } = (await cli?.views()) ?? {};
    if (after !== undefined) expect(lists).toContain(after);
  }
});
